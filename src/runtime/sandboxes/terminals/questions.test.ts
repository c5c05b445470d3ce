import { Buffer } from "node:buffer";
import { describe, expect, it } from "vitest";
import { EscapeScanner } from "./escape-scanner.js";
import { isQuestion, without } from "./questions.js";

function asks(text: string): boolean[] {
  const answers: boolean[] = [];
  new EscapeScanner().scan(Buffer.from(text), (sequence) => answers.push(isQuestion(sequence)));
  return answers;
}

describe("questions to the terminal", () => {
  it.each([
    ["cursor", "\x1b[6n"],
    ["status of something private", "\x1b[?996n"],
    ["identity", "\x1b[c\x1b[>c\x1b[=0c\x1bZ"],
    ["version", "\x1b[>0q"],
    ["a mode", "\x1b[?2026$p"],
    ["kinds of keys", "\x1b[?u\x1b[?4m"],
    ["the window", "\x1b[14t\x1b[18t\x1b[21t"],
    ["a colour", "\x1b]11;?\x07\x1b]4;1;?\x1b\\"],
    ["the clipboard", "\x1b]52;c;?\x07"],
    ["settings and names", "\x1bP$qm\x1b\\\x1bP+q544e\x1b\\"],
  ])("about %s are told from output", (_, text) => {
    expect(new Set(asks(text))).toEqual(new Set([true]));
  });

  it("are not seen in what only shows or sets something", () => {
    const text =
      "\x1b[31m\x1b[?25l\x1b[2J\x1b[5 q\x1b[22;0t\x1b]0;what?\x07\x1b]11;#000\x07\x1b[>4;2m\x1b[>1u\x1b(B\x1b7\x1b[!p";
    expect(new Set(asks(text))).toEqual(new Set([false]));
  });

  it("are cut out where they lie", () => {
    const bytes = Buffer.from("one[6n]two[c]");
    expect(without(bytes, [])).toBe(bytes);
    expect(
      without(bytes, [
        { start: 3, end: 7 },
        { start: 10, end: 13 },
      ]).toString(),
    ).toBe("onetwo");
  });
});
