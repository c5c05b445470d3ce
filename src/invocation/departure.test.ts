import { expect, test } from "vitest";
import { Departure } from "./departure.js";

test("everybody who listens hears of it once, early or late, and so does who has a signal", () => {
  const departure = new Departure();
  const heard: string[] = [];
  const { signal } = departure;
  signal.addEventListener("abort", () => heard.push("signal"));
  departure.onGone(() => heard.push("first"));
  departure.onGone(() => departure.onGone(() => heard.push("from within")));
  expect([departure.isGone, signal.aborted, heard.length]).toEqual([false, false, 0]);
  departure.happen();
  departure.happen();
  departure.onGone(() => heard.push("late"));
  expect(heard).toEqual(["first", "from within", "signal", "late"]);
  expect([departure.isGone, signal.aborted, departure.signal]).toEqual([true, true, signal]);
});

test("a signal that is asked for afterwards says so", () => {
  const departure = new Departure();
  departure.happen();
  expect(departure.signal.aborted).toBe(true);
});
