/** Expected differences between outside and inside (test/compat): each has a reason, and their number only falls. */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

interface Expected {
  readonly most: Readonly<Record<string, number>>;
  readonly entries: readonly {
    readonly suite: string;
    readonly place: string;
    readonly tests: readonly string[];
    readonly reason: string;
  }[];
}

const PATH = "test/compat/expected.json";

const read = (text: string) => JSON.parse(text) as Expected;
const now = read(readFileSync(PATH, "utf8"));
const git = (words: readonly string[]) => spawnSync("git", words, { encoding: "utf8" }).stdout;
const versions = git(["log", "--format=%H", "--", PATH])
  .split("\n")
  .filter((commit) => commit !== "");

describe("expected differences", () => {
  it.each(now.entries)("$suite in $place: $tests", ({ tests, reason }) => {
    expect(reason).toMatch(/^.{20,}[^.]$/);
    expect(tests.length).toBeGreaterThan(0);
    for (const pattern of tests) expect(() => new RegExp(pattern)).not.toThrow();
  });

  it("are counted for each place", () => {
    const counted: Record<string, number> = {};
    for (const { place, tests } of now.entries) counted[place] = (counted[place] ?? 0) + tests.length;
    expect(now.most).toEqual(counted);
  });

  it.runIf(versions.length > 0)("are never more than in an earlier commit", () => {
    for (const commit of versions) {
      const { most } = read(git(["show", `${commit}:${PATH}`]));
      for (const [place, count] of Object.entries(most)) {
        expect({ commit, place, isMore: (now.most[place] ?? 0) > count }).toEqual({ commit, place, isMore: false });
      }
    }
  });
});
