import { getEventListeners } from "node:events";
import { describe, expect, it } from "vitest";
import { abandonmentBeside } from "./abandonment.js";

describe("an answer that nobody waits for", () => {
  it("is given up when its own caller is gone, and no other is", () => {
    const all = new AbortController();
    const [one, other] = [abandonmentBeside(all.signal), abandonmentBeside(all.signal)];
    one.abort();
    expect([one.signal.aborted, other.signal.aborted, all.signal.aborted]).toEqual([true, false, false]);
  });

  it("is given up with all others, also one that comes later", () => {
    const all = new AbortController();
    const early = abandonmentBeside(all.signal);
    all.abort();
    expect([early.signal.aborted, abandonmentBeside(all.signal).signal.aborted]).toEqual([true, true]);
  });

  it("leaves nothing behind when it was given", () => {
    const all = new AbortController();
    const one = abandonmentBeside(all.signal);
    expect(getEventListeners(all.signal, "abort")).toHaveLength(1);
    one.end();
    expect(getEventListeners(all.signal, "abort")).toEqual([]);
    all.abort();
    expect(one.signal.aborted).toBe(false);
  });
});
