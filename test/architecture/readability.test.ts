/** The README is short, and it and the pages named here are plain English: short sentences, the usual words. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { manuals, pages } from "./documentation.js";

const MOST_WORDS = 900;
const LONGEST_SENTENCE = 25;
/** Lists of changes and of figures. */
const notHeld = ["CHANGELOG.md", "BENCHMARK.md"];
/** Of what we did not write as prose for this check: the protocols, which are normative. */
const plain = pages.filter((page) => !notHeld.includes(page) && !page.startsWith("spec/"));
const avoided = [
  "wish",
  "errand",
  "deed",
  "heed",
  "furniture",
  "whoever",
  "nobody",
  "given up",
  "simply",
  "just",
  "leverage",
  "seamless",
];

/** What a reader reads: no blocks, tables, pictures, comments, or targets of links; code is one word. */
function prose(text: string): string {
  return text
    .replace(/^ *```[\s\S]*?^ *```$/gm, "")
    .replace(/<!--[\s\S]*?-->/g, "")
    .replace(/^\s*(\||!\[|#).*$/gm, "")
    .replace(/`[^`]*`/g, "code")
    .replace(/\]\([^)]*\)/g, "]");
}

function words(text: string): readonly string[] {
  return text.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word));
}

/** A line of a list is a sentence. */
function longSentences(text: string): readonly string[] {
  const sentences = prose(text).split(/(?<=[.;:?!])\s+|\n\n|\n- /);
  return sentences.filter((sentence) => words(sentence).length > LONGEST_SENTENCE);
}

function avoidedWords(text: string): readonly string[] {
  return avoided.filter((phrase) => new RegExp(`\\b${phrase}\\b`, "i").test(prose(text)));
}

it(`README.md has at most ${MOST_WORDS} words`, () => {
  const text = readFileSync("README.md", "utf8").replace(/<!--[\s\S]*?-->/g, "");
  expect(words(text).length).toBeLessThanOrEqual(MOST_WORDS);
});

describe.each(plain)("%s", (page) => {
  const text = readFileSync(page, "utf8");

  it(`has sentences of at most ${LONGEST_SENTENCE} words`, () => {
    expect(longSentences(text)).toEqual([]);
  });

  it("has none of the words that are avoided", () => {
    expect(avoidedWords(text)).toEqual([]);
  });
});

const MOST_WORDS_BEFORE_EXAMPLE = 100;
/** What stands before the first block, or all where there is none. */
function beforeExample(text: string): string {
  return text.split(/^ *```/m)[0] ?? "";
}

describe.each(manuals.filter((page) => page.startsWith("docs/") && page !== "docs/pages.md"))("%s", (page) => {
  it("starts with an example", () => {
    const text = readFileSync(page, "utf8");
    const before = beforeExample(text);
    expect(before).not.toBe(text);
    expect(before).not.toMatch(/^## /m);
    expect(words(before).length).toBeLessThanOrEqual(MOST_WORDS_BEFORE_EXAMPLE);
  });
});

describe("the check of prose", () => {
  const long = `${"word ".repeat(26)}ends.`;

  it("finds long sentences, and reads no blocks, tables or addresses", () => {
    expect(longSentences(`Short. ${long}`)).toEqual([long]);
    expect(longSentences(`\`\`\`\n${long}\n\`\`\`\n| ${long} |\n<!-- ${long} -->\n`)).toEqual([]);
  });

  it("finds words that are avoided, and not those that contain them", () => {
    expect(avoidedWords("Whoever reads this.")).toEqual(["whoever"]);
    expect(avoidedWords("Adjust `just`; see [page](just.md).")).toEqual([]);
  });
});
