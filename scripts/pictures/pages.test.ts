/** The pages of the documentation and their pictures: what a page says of a picture is in it. */
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { scenes } from "./scenes/index.js";

const MAX_BYTES = 60_000;
const pages = [
  "README.md",
  ...["claude-code", "codex", "gemini-cli", "opencode"].map((name) => `docs/agents/${name}.md`),
] as const;

/** A picture on a page, and the paragraph below it. */
const figure = /^!\[(?<alt>[^\]]+)\]\((?<path>[^)]+\.svg)\)\n\n(?<caption>.+)$/m;

interface Shown {
  readonly path: string;
  readonly alt: string;
  /** What the paragraph quotes. */
  readonly quoted: readonly string[];
}

function shownOn(page: string): Shown {
  const { alt = "", path = "", caption = "" } = figure.exec(readFileSync(page, "utf8"))?.groups ?? {};
  const quoted = [...caption.matchAll(/`([^`]+)`/g)].map(([, words = ""]) => words);
  return { path: join(dirname(page), path), alt, quoted };
}

/** The lines of a picture, each piece at its column. */
function textOf(path: string): string {
  const lines = readFileSync(path, "utf8").matchAll(/<text y="[^"]+">(.*)<\/text>/g);
  return [...lines].map(([, line = ""]) => lineOf(line)).join("\n");
}

function lineOf(pieces: string): string {
  let line = "";
  for (const [, x, text = ""] of pieces.matchAll(/<tspan x="(\d+)"[^>]*>([^<]*)<\/tspan>/g)) {
    line = line.padEnd((Number(x) - 14) / 8) + text;
  }
  return line.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
}

describe.each(pages)("%s", (page) => {
  const { path, alt, quoted } = shownOn(page);

  test("has a picture with words for those who cannot see it", () => {
    expect(scenes.map((scene) => scene.path)).toContain(path);
    expect(alt.length).toBeGreaterThan(20);
  });

  test("says of the picture what is in it", () => {
    expect(quoted.length).toBeGreaterThan(2);
    const text = textOf(path);
    for (const words of quoted) expect(text).toContain(words);
  });
});

describe.each(scenes.map(({ path }) => path))("%s", (path) => {
  const svg = readFileSync(path, "utf8");

  test("is small, and shows no path of the machine that it was made on", () => {
    expect(Buffer.byteLength(svg)).toBeLessThan(MAX_BYTES);
    expect(svg).not.toMatch(/\/(tmp|work|root)\b/);
  });

  test("is on a page", () => {
    expect(pages.map((page) => shownOn(page).path)).toContain(path);
  });
});
