import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { globCovers, globMatches, globMayConcern, globRemainders } from "./glob.js";
import { spellings } from "./spelling.js";

const { same, different } = JSON.parse(readFileSync("spec/spellings.json", "utf8")) as {
  readonly same: readonly (readonly [string, string])[];
  readonly different: readonly (readonly [string, string])[];
};

const isSame = (one: string, other: string) => spellings(one).at(-1) === spellings(other).at(-1);

describe("spellings of a name", () => {
  it.each(same)("%j and %j are one", (one, other) => {
    expect(isSame(one, other)).toBe(true);
    expect(globMatches(`**/${one}`, ["a", other])).toBe(true);
    expect(globMayConcern(`**/${one}/x`, ["a", other])).toBe(true);
    expect(globRemainders(`**/${one}/x`, [other])).toEqual(["x"]);
  });

  it.each(different)("%j and %j are two", (one, other) => {
    expect(isSame(one, other)).toBe(false);
    expect(globCovers(`**/${one}`, ["a", other])).toBe(false);
  });

  it("fit the same wildcards", () => {
    for (const name of ["SERVER.PEM", "server.pem.", "\u200bserver.Pem"]) {
      expect(globMatches("**/*.pem", [name])).toBe(true);
      expect(globMayConcern("**/*.pem", [name])).toBe(true);
    }
    expect(globMatches("**/a.", ["A."])).toBe(true);
  });
});
