/** ARCHITECTURE.md stays short and names every folder of src, which says for itself what it owns; decisions are on record. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { linksOf } from "./documentation.js";

const MOST_WORDS = 1500;
const decisionsFolder = "docs/decisions";
const architecture = readFileSync("ARCHITECTURE.md", "utf8");
const foldersIn = (parent: string): readonly string[] =>
  readdirSync(parent, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => join(parent, name));

const sourceFolders = foldersIn("src");
const crateReadmes = foldersIn("native")
  .map((crate) => join(crate, "README.md"))
  .filter((path) => existsSync(path));
const decisions = readdirSync(decisionsFolder).filter((name) => /^\d{4}-/.test(name));

/** Parts that a README of a source folder has to have. */
function missingParts(text: string): readonly string[] {
  return ["**Owns** ", "**Never** ", "**Start at** "].filter((part) => !text.includes(`\n${part}`));
}

/** Folders that a text names in code, from the root of the checkout. */
function namedFolders(text: string): readonly string[] {
  return [
    ...text.matchAll(/`((?:src|native|spec|sdk|test|bench|scripts|packaging|plugins|images|examples)\/[\w/-]*)`/g),
  ].map(([, path = ""]) => path);
}

describe("ARCHITECTURE.md", () => {
  it(`has at most ${MOST_WORDS} words`, () => {
    expect(architecture.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length).toBeLessThanOrEqual(
      MOST_WORDS,
    );
  });

  it.each(sourceFolders)("maps %s", (folder) => {
    expect(architecture).toContain(`[${folder}](${folder}/README.md)`);
  });

  it("names folders that there are", () => {
    expect(namedFolders(architecture).length).toBeGreaterThan(10);
    expect(namedFolders(architecture).filter((path) => !existsSync(path))).toEqual([]);
  });
});

describe.each(sourceFolders)("%s/README.md", (folder) => {
  const text = readFileSync(join(folder, "README.md"), "utf8");

  it("says what the folder owns, what it must never do, and where to start", () => {
    expect(missingParts(text)).toEqual([]);
  });

  it("names folders of its own that there are", () => {
    const named = [...text.matchAll(/`([a-z-]+)\/`/g)].map(([, name = ""]) => name);
    expect(named.filter((name) => !existsSync(join(folder, name)))).toEqual([]);
  });
});

it.each(crateReadmes)("links of %s lead somewhere", (path) => {
  expect(linksOf(path).filter((link) => !existsSync(link.path))).toEqual([]);
});

describe("decisions", () => {
  it.each(decisions)("%s has its parts", (name) => {
    const text = readFileSync(join(decisionsFolder, name), "utf8");
    expect(text).toMatch(
      new RegExp(`^# ${name.slice(0, 4)}: .+\\n\\nStatus: (accepted|proposed|superseded by \\d{4})\\n`),
    );
    for (const part of ["Context", "Decision", "Consequences"]) expect(text).toContain(`\n## ${part}\n`);
  });

  it("have one number each, and a row in the index", () => {
    const numbers = decisions.map((name) => name.slice(0, 4));
    expect(new Set(numbers).size).toBe(numbers.length);
    const indexed = linksOf(join(decisionsFolder, "README.md")).map(({ path }) => path);
    for (const name of decisions) expect(indexed).toContain(join(decisionsFolder, name));
  });
});

it("CODEOWNERS names places that there are", () => {
  const places = [...readFileSync(".github/CODEOWNERS", "utf8").matchAll(/^(?:# )?(\/\S+)\s/gm)].map(
    ([, path = ""]) => path,
  );
  expect(places.length).toBeGreaterThan(10);
  expect(places.filter((path) => !existsSync(`.${path}`))).toEqual([]);
});

describe("the check of the map", () => {
  it("finds parts and folders that are missing", () => {
    expect(missingParts("# x\n\n**Owns** a.\n")).toEqual(["**Never** ", "**Start at** "]);
    expect(namedFolders("`src/nothing` and `native/jail`")).toEqual(["src/nothing", "native/jail"]);
  });
});
