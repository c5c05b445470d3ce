import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { numbers, numericDefaultsOn, settableNumbers } from "./index.js";
import { inRange } from "./quantity.js";
import { withReference } from "./reference.js";

describe("the table of settings", () => {
  test.each(numbers)("$path: its default and ceiling lie in its range, and its texts are read back", ({ setting }) => {
    const { quantity, min, max, keyCeiling } = setting;
    const range = { min, max, whole: quantity.whole };
    const values = [min, max, setting.default, keyCeiling].filter((value) => typeof value === "number");
    for (const value of values) {
      expect(inRange(value, range)).toBe(true);
      expect(quantity.parse(quantity.format(value))).toEqual({ value });
    }
  });

  test.each(["flag", "key"] as const)("gives each %s to one setting", (name) => {
    const names = settableNumbers.map(({ setting }) => setting[name]);
    expect(new Set(names).size).toBe(names.length);
  });

  test.each([
    { machine: 64 * 1024, usual: 32 * 1024, what: "half of a large machine" },
    { machine: 24_105, usual: 11 * 1024, what: "in whole GiB" },
    { machine: 3000, usual: 2048, what: "2 GiB of a small one" },
    { machine: 1500, usual: 1500, what: "all of a smaller one" },
  ])("memory is $what", ({ machine, usual }) => {
    expect(numericDefaultsOn({ memoryMiB: machine })["resources.memoryMiB"]).toBe(usual);
  });

  test("is the reference of the documentation (npm run reference writes it)", () => {
    const page = readFileSync("docs/configuration.md", "utf8");
    expect(page).toBe(withReference(page));
  });
});
