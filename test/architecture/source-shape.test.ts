import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { describe, expect, it } from "vitest";
import { filesUnder } from "./module-graph.js";

const maxLines = 400;
const sources = [
  ...filesUnder("src", ".ts"),
  ...filesUnder("test", ".ts"),
  ...filesUnder("scripts", ".ts"),
  ...filesUnder("native", ".rs"),
  ...[".ts", ".py", ".go", ".rs", ".swift"].flatMap((extension) => filesUnder("sdk", extension)),
].filter((path) => !isBuilt(path) && !isWrittenFromSpec(path));

function isBuilt(path: string): boolean {
  return /\/(dist|\.build|target)\//.test(path);
}

/** By `npm run sdk:sources`, as long as the API's description is. */
function isWrittenFromSpec(path: string): boolean {
  return path.startsWith("sdk/") && /npm run sdk:sources/.test(readFileSync(path, "utf8").slice(0, 200));
}

/** Names that hide what a file owns. */
const emptyName = /^(utils?|helpers?|common|manager|misc|service)$/;

const isEmptyName = (path: string): boolean =>
  basename(path)
    .replace(/(\.test)?\.(ts|rs|py|go|swift)$/, "")
    .split(/[-_]/)
    .some((word) => emptyName.test(word));

describe("a source file", () => {
  it.each(sources)("%s is small enough to read in one go", (path) => {
    expect(readFileSync(path, "utf8").trimEnd().split("\n").length).toBeLessThanOrEqual(maxLines);
  });

  it("says in its name what it owns", () => {
    expect(sources.filter(isEmptyName)).toEqual([]);
    expect(["src/core/utils.ts", "src/api/run-helpers.ts", "native/jail/src/common.rs"].every(isEmptyName)).toBe(true);
  });
});
