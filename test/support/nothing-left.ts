import { afterEach, beforeEach, expect } from "vitest";
import { leaksSince, type Traces, traces } from "./leaks.js";

/** For a `describe`: after each of its tests the machine is as it was before. */
export function leavesNothingBehind(): void {
  let before: Traces;
  beforeEach(() => {
    before = traces();
  });
  afterEach(async () => {
    expect(await leaksSince(before)).toEqual([]);
  });
}
