import fc from "fast-check";
import { expect, test } from "vitest";
import { escapeText } from "./escape.js";

// THREATS P8
test.each([
  ["\u001b[2J\u001b]0;title\u0007", "\\x1b[2J\\x1b]0;title\\x07"],
  ["\u009b31m", "\\x9b31m"],
  ["a\r\nb\tc", "a\\r\\nb\\tc"],
  ["safe\u202egnp.exe", "safe\\u{202e}gnp.exe"],
  ["\u200bzero\ufeff", "\\u{200b}zero\\u{feff}"],
  ["\ud800x", "\\u{d800}x"],
])("%j is shown as %s", (text, expected) => {
  expect(escapeText(text)).toBe(expected);
});

test("ordinary text of any script stays as it is", () => {
  const text = 'gr\u00fc\u00df dich \u65e5\u672c\u8a9e \u{1f600} a/b-c_d.e "quoted"';
  expect(escapeText(text)).toBe(text);
});

test("no control character of any kind is left", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      expect(escapeText(text)).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\p{Bidi_Control}]/u);
    }),
  );
});
