import { readFileSync } from "node:fs";
import { posix } from "node:path";
import { expect, it } from "vitest";
import { filesUnder } from "./module-graph.js";

const readers = ["src", "test", "scripts", "bench"].flatMap((folder) =>
  [".ts", ".mjs", ".mts"].flatMap((extension) => filesUnder(folder, extension)),
);
const texts = new Map([...readers, "vitest.config.ts"].map((path) => [path, readFileSync(path, "utf8")]));

/** Modules that are loaded by a table of paths: each exports what that table asks for. */
const loadedByPath = /^src\/cli\/verbs\/|^src\/api\/resources\/|^test\/fuzz\/targets\/|\.d\.mts$/;

interface Export {
  readonly path: string;
  readonly name: string;
  /** The module that it is passed on from. */
  readonly from: string | null;
}

/** By words: an export whose name also means something else elsewhere gets away, and none is called unused wrongly. */
function exportsOf(path: string, text: string): Export[] {
  const own = [
    ...text.matchAll(/^export (?:async )?(?:abstract )?(?:function\*?|class|const|let|interface|type) (\w+)/gm),
  ];
  const lists = [...text.matchAll(/^export (?:type )?\{([^}]*)\}(?: from "([^"]+)")?/gm)];
  return [
    ...own.map(([, name = ""]) => ({ path, name, from: null })),
    ...lists.flatMap(([, names = "", source]) => {
      const from = source === undefined ? null : posix.join(posix.dirname(path), source).replace(/\.js$/, ".ts");
      const each = names.split(",").map((item) => /(\w+)\s*$/.exec(item)?.[1] ?? "");
      return each.filter((name) => name !== "").map((name) => ({ path, name, from }));
    }),
  ];
}

function unusedExports(files: ReadonlyMap<string, string>): string[] {
  const users = new Map<string, Set<string>>();
  for (const [path, text] of files) {
    for (const [word] of text.matchAll(/\w+/g)) {
      const known = users.get(word);
      if (known === undefined) users.set(word, new Set([path]));
      else known.add(path);
    }
  }
  const all = [...files].flatMap(([path, text]) =>
    /\.ts$/.test(path) && !loadedByPath.test(path) ? exportsOf(path, text) : [],
  );
  const isUsed = ({ path, name, from }: Export) =>
    [...(users.get(name) ?? [])].some((user) => user !== path && user !== from);
  return all.filter((each) => !isUsed(each)).map(({ path, name }) => `${path}: ${name}`);
}

it("exports only what another file uses", () => {
  expect(unusedExports(texts)).toEqual([]);
});

it("is noticed where nothing uses it", () => {
  const files = new Map([
    ["src/a.ts", "export function used() {}\nexport interface Alone {}\n"],
    ["src/index.ts", 'export { used, type Alone } from "./a.js";\n'],
    ["src/b.ts", 'import { used } from "./index.js";\nused();\n'],
  ]);
  expect(unusedExports(files)).toEqual(["src/index.ts: Alone"]);
});
