import { describe, expect, it } from "vitest";
import { filesToTryAgain, unsteadyOf, withSecondTry } from "./second-try.mjs";
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

describe("what failed beside others", () => {
  const first = reportOf(file("/p/a.test.ts", passed), file("/p/b.test.ts", failed));

  it("runs again, alone", () => {
    expect(filesToTryAgain(first, "")).toEqual(["/p/b.test.ts"]);
  });

  it("counts as it goes then, and is named where it passes", () => {
    const second = reportOf(file("/p/b.test.ts", passed));
    expect(vitestTotals(withSecondTry(first, second), true)).toEqual({ passed: 2, failed: 0, skipped: 0 });
    expect(unsteadyOf(first, second)).toEqual([
      "UNSTEADY /p/b.test.ts > adds: it passed when its file ran again, alone",
      "     Error: late",
    ]);
  });

  it("stays failed where it fails again, or was not run", () => {
    for (const second of [first, undefined, reportOf()]) {
      expect(vitestTotals(withSecondTry(first, second), false)).toMatchObject({ failed: 1 });
      expect(unsteadyOf(first, second)).toEqual([]);
    }
  });
});

describe("there is no second try", () => {
  it("for a wall", () => {
    const wall = reportOf(file("/p/test/security/f1.test.ts", failed), file("/p/b.test.ts", failed));
    expect(filesToTryAgain(wall, "")).toEqual([]);
  });

  it("where much is broken", () => {
    const much = reportOf(...["a", "b", "c", "d"].map((name) => file(`/p/${name}.test.ts`, failed)));
    expect(filesToTryAgain(much, "")).toEqual([]);
  });

  it("after an error outside of any test, or without a report", () => {
    expect(filesToTryAgain(reportOf(file("/p/b.test.ts", failed)), "Unhandled Errors")).toEqual([]);
    expect(filesToTryAgain(undefined, "")).toEqual([]);
  });
});
