/** Links of the documentation lead somewhere, and what it tells a reader to type is understood. */
import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parseOptions } from "../../src/cli/parse-options.js";
import { findVerb } from "../../src/cli/verbs.js";
import { anchorsOf, commandsOf, linksOf, manuals, pages } from "./documentation.js";

/** What is wrong with a command line, or null. */
function fault(words: readonly string[]): string | null {
  // Its name alone, an option for all verbs, or a title that begins with it.
  if (!/^[a-z]/.test(words[0] ?? "")) return null;
  try {
    const { verb, rest } = findVerb(words);
    return parseOptions(verb, rest).problem?.message ?? null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

describe.each(pages)("%s", (page) => {
  const text = readFileSync(page, "utf8");

  it("links to what is there", () => {
    for (const { path, heading } of linksOf(page)) {
      expect(existsSync(path), path).toBe(true);
      if (heading !== null) expect(anchorsOf(readFileSync(path, "utf8")), path).toContain(heading);
    }
  });

  it("tells to run scripts that there are", () => {
    const { scripts } = JSON.parse(readFileSync("package.json", "utf8")) as { scripts: Record<string, string> };
    for (const [, name = ""] of text.matchAll(/`npm run ([\w:-]+)/g)) expect(Object.keys(scripts)).toContain(name);
    // Manuals speak of files in a reader's project.
    if (page.startsWith("sdk/") || page.startsWith("docs/")) return;
    for (const [, path = ""] of text.matchAll(/`((?:scripts|bench|test|src|spec)\/[\w./-]+)`/g)) {
      expect(existsSync(path), path).toBe(true);
    }
  });
});

describe.each(manuals)("what %s tells a reader to type", (page) => {
  it("is understood by the command line", () => {
    const faults = commandsOf(readFileSync(page, "utf8")).map((words) => [words.join(" "), fault(words)]);
    expect(faults.filter(([, why]) => why !== null)).toEqual([]);
  });
});

describe("the check of pages", () => {
  it("finds commands behind prompts, variables and pipes", () => {
    expect(commandsOf("`agentkernel run x`\n")).toEqual([["run", "x"]]);
    expect(commandsOf("```\n$ A=1 ./bin/agentkernel run --oops 'a b'\nout\n```\n")).toEqual([["run", "--oops", "a b"]]);
    expect(commandsOf("```sh\ntar c . | agentkernel images import -\n```\n")).toEqual([]);
    expect(commandsOf("`docker save x | agentkernel images import -`")).toEqual([["images", "import", "-"]]);
  });

  it("is red for a verb, an option or a page that is not there", () => {
    expect(fault(["run", "true"])).toBeNull();
    expect(fault(["runn", "true"])).not.toBeNull();
    expect(fault(["run", "--oops", "true"])).not.toBeNull();
    expect(linksOf("docs/a.md", "[x](b.md#c)")).toEqual([{ path: "docs/b.md", heading: "c" }]);
  });

  it("reads enough commands to mean something", () => {
    const all = manuals.flatMap((page) => commandsOf(readFileSync(page, "utf8")));
    expect(all.length).toBeGreaterThan(50);
  });
});
