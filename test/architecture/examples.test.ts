/** Every language that agentkernel knows has an example, and gets its image where nobody names one. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { detectImage } from "../../src/detect/index.js";
import { languageTable } from "../../src/detect/languages.js";

const script = readFileSync("scripts/run-examples.sh", "utf8");
const table = /^examples='([^']+)'$/m.exec(script)?.[1] ?? "";
const examples = table.split("\n").map((line) => {
  const [folder = "", , command = ""] = line.split("|");
  const projectFiles = readdirSync(join("examples", folder));
  return { folder, command, projectFiles, detected: detectImage({ argv: ["./start"], projectFiles }) };
});

/** Run by tests of their own. */
const NO_LANGUAGE = ["code-mode"];

describe("examples", () => {
  it("are all run", () => {
    const folders = readdirSync("examples", { withFileTypes: true }).filter(
      (entry) => entry.isDirectory() && !NO_LANGUAGE.includes(entry.name),
    );
    expect(examples.map(({ folder }) => folder).sort()).toEqual(folders.map(({ name }) => name).sort());
  });

  it("are one for each language", () => {
    const found = examples.map(({ detected }) => detected.language);
    expect(new Set(found)).toEqual(new Set(languageTable.map(({ language }) => language)));
    expect(found).toHaveLength(languageTable.length);
  });

  it.each(examples)(
    "$folder says what it prints, and their page how to run it",
    ({ folder, command, projectFiles }) => {
      expect(projectFiles).toContain("expected.txt");
      expect(readFileSync("examples/README.md", "utf8")).toContain(`| \`${folder}\` | \`${command}\` |`);
    },
  );
});
