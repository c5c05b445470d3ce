import { existsSync, readdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { areas } from "./areas.mjs";
import { judge } from "./report.mjs";

const root = dirname(dirname(import.meta.dirname));

it.each(Object.entries(areas))("the area %s names files that are there", (_, { mutate, tests }) => {
  const named = [...mutate, ...tests].filter((pattern) => !pattern.startsWith("!"));
  expect(named.filter((pattern) => !isThere(pattern))).toEqual([]);
});

/** A file, or `*` and an ending in a directory. */
function isThere(pattern: string): boolean {
  const path = join(root, pattern);
  if (!pattern.includes("*")) return existsSync(path);
  return readdirSync(dirname(path)).some((name) => name.endsWith(basename(path).slice(1)));
}

describe("a report of Stryker", () => {
  const mutant = (status: string, line = 1) => ({
    status,
    replacement: "false",
    location: { start: { line, column: 5 }, end: { line, column: 9 } },
  });
  const report = (...mutants: readonly object[]) => ({
    files: { "src/a.ts": { source: "if (true)\nif (here)", mutants } },
  });

  it("counts what a test noticed, or what made it hang, among what was judged", () => {
    expect(judge(report(mutant("Killed"), mutant("Timeout"), mutant("Survived"), mutant("Ignored")))).toMatchObject({
      killed: 2,
      judged: 3,
    });
  });

  it("lists each survivor with its place and what was changed there", () => {
    expect(judge(report(mutant("NoCoverage", 2), mutant("Survived"))).survivors).toEqual([
      { place: "src/a.ts:1", change: "true → false", isReached: true },
      { place: "src/a.ts:2", change: "here → false", isReached: false },
    ]);
  });

  it("does not take nothing for everything", () => {
    expect(judge(report()).percent).toBe(0);
  });
});
