import { expect, it } from "vitest";
import { ageText, leftText, sizeText, tableText } from "./text.js";

it.each([
  [0, "0 B"],
  [999, "999 B"],
  [1024, "1.0 KiB"],
  [45_600_000, "43.5 MiB"],
  [1024 ** 2 - 1, "1.0 MiB"],
  [20 * 1024 ** 3, "20.0 GiB"],
])("%d bytes read %s", (bytes, text) => {
  expect(sizeText(bytes)).toBe(text);
});

it.each([
  [-5, "0s"],
  [59_999, "59s"],
  [60_000, "1m"],
  [2 * 3_600_000, "2h"],
  [47 * 3_600_000, "47h"],
  [8 * 86_400_000, "8d"],
  [400 * 86_400_000, "400d"],
])("%d ms are %s", (ms, text) => {
  expect(ageText(ms)).toBe(text);
});

it.each([
  [58_001, "59s"],
  [8 * 3_600_000 - 40, "8h"],
  [8 * 3_600_000 - 120_000, "7h"],
])("of %d ms %s are left", (ms, text) => {
  expect(leftText(ms)).toBe(text);
});

it("a table's columns stand below one another", () => {
  expect(
    tableText([
      ["NAME", "SIZE"],
      ["python", "1"],
    ]),
  ).toBe("NAME    SIZE\npython  1\n");
});
