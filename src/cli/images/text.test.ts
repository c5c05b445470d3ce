import { expect, it } from "vitest";
import { ageText, leftText, sizeText, tableText } from "./text.js";

it.each([
  [0, "0 B"],
  [999, "999 B"],
  [1000, "1.0 kB"],
  [45_600_000, "45.6 MB"],
  [999_999, "1.0 MB"],
  [20 * 1024 ** 3, "21.5 GB"],
])("%d bytes read %s", (bytes, text) => {
  expect(sizeText(bytes)).toBe(text);
});

it.each([
  [-5, "seconds"],
  [59_000, "seconds"],
  [60_000, "1 minute"],
  [2 * 3_600_000, "2 hours"],
  [8 * 86_400_000, "1 week"],
  [400 * 86_400_000, "1 year"],
])("%d ms are %s", (ms, text) => {
  expect(ageText(ms)).toBe(text);
});

it.each([
  [59_000, "seconds"],
  [8 * 3_600_000 - 40, "8 hours"],
  [8 * 3_600_000 - 120_000, "7 hours"],
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
