import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { numbers, numericDefaultsOn, settableNumbers } from "./index.js";
import type { OptionDescription } from "./option.js";
import { optionSettings } from "./options.js";
import { inRange } from "./quantity.js";
import { withReference } from "./reference.js";
import { fieldOf, flagOf } from "./wording.js";

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

  test("gives each option of the command line to one setting", () => {
    const flags = [...settableNumbers, ...Object.values(optionSettings).map((setting) => ({ setting }))].map(
      ({ setting }) => setting.flag,
    );
    expect(new Set(flags).size).toBe(flags.length);
  });

  test("spells each setting as its interface does", () => {
    expect([flagOf("mode"), fieldOf("mode")]).toEqual(["--compatibility-mode", "compatibility_mode"]);
    expect([flagOf("resources.memoryMiB"), fieldOf("resources.memoryMiB")]).toEqual([
      "--memory",
      "resources.memory_mb",
    ]);
    expect(fieldOf("fs.show")).toBe("--show");
  });

  test("names keys of files that exist", () => {
    for (const [file, key] of [
      ["spec/schemas/agentkernel.schema.json", "toml"],
      ["spec/schemas/policy.schema.json", "policyFile"],
    ] as const) {
      const keys = Object.values<OptionDescription>(optionSettings).flatMap((setting) => setting[key] ?? []);
      expect(keys.length).toBeGreaterThan(2);
      for (const path of keys) {
        const at = `/properties/${path.split(".").join("/properties/")}`.split("/").slice(1);
        const found = at.reduce<unknown>(
          (schema, name) => (schema as Readonly<Record<string, unknown>> | undefined)?.[name],
          JSON.parse(readFileSync(file, "utf8")),
        );
        expect(found, `${path} in ${file}`).toBeDefined();
      }
    }
  });

  test("is the reference of the documentation (npm run reference writes it)", () => {
    const page = readFileSync("docs/configuration.md", "utf8");
    expect(page).toBe(withReference(page));
  });
});
