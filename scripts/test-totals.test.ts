import { describe, expect, it } from "vitest";
import { cargoTotals, failuresOf, vitestTotals } from "./test-totals.mjs";

const passed = { status: "passed", fullName: "adds", failureMessages: [] };
const failed = { status: "failed", fullName: "divides by zero", failureMessages: ["Error: no\n    at sum.ts:1"] };
const skipped = { status: "skipped", fullName: "waits", failureMessages: [] };
const report = {
  testResults: [
    { name: "sum.test.ts", status: "failed", message: "", assertionResults: [passed, failed, skipped] },
    { name: "broken.test.ts", status: "failed", message: "SyntaxError: here\nand there", assertionResults: [] },
  ],
};

describe("what vitest reports", () => {
  it("counts tests, and a file that could not be loaded as one that failed", () => {
    expect(vitestTotals(report, false)).toEqual({ passed: 1, failed: 2, skipped: 1 });
  });

  it("is a failure without a report", () => {
    expect(vitestTotals(undefined, true)).toEqual({ passed: 0, failed: 1, skipped: 0 });
    expect(failuresOf(undefined)).toEqual([]);
  });

  it("names what failed, with the first line of the reason", () => {
    expect(failuresOf(report)).toEqual([
      "FAIL sum.test.ts > divides by zero",
      "     Error: no",
      "FAIL broken.test.ts > the file",
      "     SyntaxError: here",
    ]);
  });
});

it("what cargo printed is a failure where it ended badly without a failed test", () => {
  const output = "\u001b[1mtest result: \u001b[32mok\u001b[0m. 3 passed; 0 failed; 1 ignored; 0 measured\n";
  const coloured = "test result: ok. 3 passed; 0 failed; 1 ignored\n";
  expect(cargoTotals(coloured, true)).toEqual({ passed: 3, failed: 0, skipped: 1 });
  expect(cargoTotals(coloured, false)).toEqual({ passed: 3, failed: 1, skipped: 1 });
  expect(cargoTotals(output.replace("\u001b[1m", ""), true).passed).toBe(3);
});
