/** Our own messages hold no secret, and have to arrive whole. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { redactor } from "./redact.js";

const sources = readdirSync("src", { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"))
  .map((name) => join("src", name));

/** The fixed texts of errors: hints, and messages that are written out where they are thrown. */
const FIXED = /(?:hint:\s*|AgentKernelError\(\s*"\w+",\s*)("(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`)/g;

function fixedTexts(path: string): readonly string[] {
  return Array.from(readFileSync(path, "utf8").matchAll(FIXED), ([, literal = ""]) =>
    literal.slice(1, -1).replace(/\$\{[^}]*\}/g, "X"),
  );
}

describe("redaction", () => {
  const texts = sources.flatMap((path) => fixedTexts(path).map((text) => ({ path, text })));

  it("leaves the words of our own errors and hints as they are", () => {
    expect(texts.length).toBeGreaterThan(300);
    const redact = redactor();
    expect(texts.filter(({ text }) => redact.text(text) !== text)).toEqual([]);
  });
});
