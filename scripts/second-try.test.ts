import { describe, expect, it } from "vitest";
import { triesAfter, unsteadyOf, withTries } from "./second-try.mjs";
import { vitestTotals } from "./test-totals.mjs";

const passed = { status: "passed", fullName: "adds", failureMessages: [""] };
const failed = { status: "failed", fullName: "adds", failureMessages: ["Error: late\n    at sum.ts:1"] };
const file = (name: string, ...tests: (typeof passed)[]) => ({
  name,
  status: tests.includes(failed) ? "failed" : "passed",
  message: "",
  assertionResults: tests,
});
const reportOf = (...testResults: ReturnType<typeof file>[]) => ({ testResults });

const stray = (name: string) =>
  `Vitest caught 1 unhandled error during the test run.\nThis error originated in "${name}" test file. It`;

describe("what failed beside others", () => {
  const first = reportOf(file("/p/a.test.ts", passed), file("/p/b.test.ts", failed));

  it("runs again, alone", () => {
    expect(triesAfter(first, "")).toEqual([["/p/b.test.ts"]]);
  });

  it("counts as it goes then, and is named where it passes", () => {
    const tries = [reportOf(file("/p/b.test.ts", passed))];
    expect(vitestTotals(withTries(first, tries), true)).toEqual({ passed: 2, failed: 0, skipped: 0 });
    expect(unsteadyOf(first, tries, "")).toEqual([
      "UNSTEADY /p/b.test.ts > adds: it passed when its file ran again, alone",
      "     Error: late",
    ]);
  });

  it("stays failed where it fails again, or was not run", () => {
    for (const second of [first, undefined, reportOf()]) {
      expect(vitestTotals(withTries(first, [second]), false)).toMatchObject({ failed: 1 });
      expect(unsteadyOf(first, [second], "")).toEqual([]);
    }
  });

  it("is also a file in which something was thrown outside of any test", () => {
    expect(triesAfter(first, stray("test/c.test.ts"))).toEqual([["/p/b.test.ts", "test/c.test.ts"]]);
  });
});

describe("a wall", () => {
  const name = "/p/test/security/f1.test.ts";
  const first = reportOf(file(name, failed), file("/p/b.test.ts", failed));
  const stands = reportOf(file(name, passed));

  it("has to stand three times in a row", () => {
    expect(triesAfter(first, "")).toEqual([[name, "/p/b.test.ts"], [name], [name]]);
    expect(triesAfter(reportOf(), stray("test/security/f1.test.ts"))).toHaveLength(3);
  });

  it("has fallen where it fell in any of them", () => {
    for (const tries of [
      [stands, stands, first],
      [first, stands, stands],
    ]) {
      expect(vitestTotals(withTries(reportOf(file(name, failed)), tries), false)).toMatchObject({ failed: 1 });
      expect(unsteadyOf(reportOf(file(name, failed)), tries, "")).toEqual([]);
    }
    expect(unsteadyOf(first, [stands, stands, stands], "")).toHaveLength(2);
  });
});

describe("there is no other try", () => {
  it("where much is broken", () => {
    const much = reportOf(...["a", "b", "c", "d", "e", "f", "g"].map((name) => file(`/p/${name}.test.ts`, failed)));
    expect(triesAfter(much, "")).toEqual([]);
  });

  it("after an error of which nobody knows where it was, or without a report", () => {
    expect(triesAfter(reportOf(file("/p/b.test.ts", failed)), "Vitest caught 1 unhandled error")).toEqual([]);
    expect(triesAfter(undefined, "")).toEqual([]);
  });
});
