/** docs/parity.md against the code: each verb, operation, tool, option, field and argument has its place, or a reason. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { operations } from "../../src/api/operations/index.js";
import { runRequest } from "../../src/api/operations/runs.js";
import { shownVerbs, verbs } from "../../src/cli/verbs.js";
import { nothingAllowed } from "../../src/codemode/calls/policy.js";
import { openCodeMode } from "../../src/codemode/index.js";
import { tools } from "../../src/mcp/tools/index.js";

const page = readFileSync("docs/parity.md", "utf8");

type Cells = readonly [string, string, string];

function rowsUnder(heading: string): readonly Cells[] {
  const [, section = ""] = page.split(`## ${heading}\n`);
  const rows = (section.split("\n## ")[0] ?? "").split("\n").filter((line) => line.startsWith("| "));
  return rows.slice(2).map((line) => line.slice(2, -2).split(" | ") as unknown as Cells);
}

/** What a column names, without the cells that say why something is missing. */
function namedIn(rows: readonly Cells[], column: 0 | 1 | 2): readonly string[] {
  const cells = rows.map((row) => row[column]).filter((cell) => !cell.startsWith("no: "));
  return cells.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name));
}

const sorted = (names: Iterable<string>) => [...new Set(names)].sort();
const isOnce = (names: readonly string[]) => expect(names.length).toBe(new Set(names).size);

const interfaces = rowsUnder("Verbs, operations and tools");
const local = /stay on the command line: (.*)\.\n/.exec(page)?.[1] ?? "";
const localVerbs = [...local.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name);

describe("what each interface can do", () => {
  it("has each verb of the command line once", () => {
    const named = [...namedIn(interfaces, 0), ...localVerbs];
    isOnce(named);
    expect(sorted(named)).toEqual(sorted(verbs.map(({ name }) => name)));
    expect(shownVerbs.length).toBeGreaterThan(20);
  });

  it("has each operation of HTTP once", () => {
    const named = namedIn(interfaces, 1);
    isOnce(named);
    expect(sorted(named)).toEqual(sorted(Object.keys(operations)));
  });

  it("has each tool of MCP once, code mode's among them", async () => {
    const mode = openCodeMode({
      entries: [],
      policy: nothingAllowed,
      around: { cwd: "/", env: {} },
      modulesFolder: "/nonexistent",
    });
    const all = [...tools, ...mode.tools].map(({ description }) => description.name);
    await mode.close();
    const named = namedIn(interfaces, 2);
    isOnce(named);
    expect(sorted(named)).toEqual(sorted(all));
  });

  it("gives a reason for all that is missing", () => {
    const cells = [...interfaces, ...rowsUnder("What a run can be given")].flat();
    expect(cells.filter((cell) => !/^(`[^`]+`(, `[^`]+`)*|no: .{8,})$/.test(cell))).toEqual([]);
  });
});

describe("what a run can be given", () => {
  const rows = rowsUnder("What a run can be given");
  const properties = (schema: unknown): readonly string[] =>
    Object.keys((schema as { readonly properties: Readonly<Record<string, unknown>> }).properties);

  it("has each option of run", () => {
    const run = verbs.find(({ name }) => name === "run");
    expect(sorted(namedIn(rows, 0))).toEqual(sorted(run?.options.map(({ long }) => `--${long}`) ?? []));
  });

  it("has each field of POST /run", () => {
    const fields = properties(runRequest.named.RunRequest);
    expect(sorted([...namedIn(rows, 1), "command"])).toEqual(sorted(fields));
  });

  it("has each argument of sandbox_run", () => {
    const tool = tools.find(({ description }) => description.name === "sandbox_run");
    expect(sorted([...namedIn(rows, 2), "command"])).toEqual(sorted(properties(tool?.description.inputSchema)));
  });
});
