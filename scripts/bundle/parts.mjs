// The command line in parts: what every run loads, what a run on some backend loads beside that, and all the rest. V8
// reads a script whole, also what is never called; a run that leaves the rest alone starts sooner. Every module of ours
// is in one part, so that there is one of it in a process, whoever asks.
import { relative } from "node:path";

/** What a part begins with; what these load at once is in it too. What no part begins with is the rest. */
const roots = {
  cli: [
    "src/cli/main.ts",
    "src/cli/verbs/run.ts",
    "src/cli/run/execute.ts",
    "src/audit/writer.ts",
    "src/audit/prepare.ts",
    "src/core/redact.ts",
    "src/cli/errors.ts",
    "src/runtime/backends/gvisor-candidate.ts",
  ],
  engine: ["src/runtime/backends/engine-candidate.ts", "src/backends/linux/persistent/changes.ts"],
  wasm: ["src/runtime/open-module.ts", "src/runtime/backends/wasm-candidate.ts"],
  microvm: ["src/runtime/backends/microvm-candidate.ts", "src/runtime/backends/proven-machine.ts"],
};
const REST = "rest";

export const partNames = [...Object.keys(roots), REST];

/** From esbuild's list of inputs, which part each module is in. Earlier parts come first: they are loaded anyway. */
export function assignParts(inputs, beginnings = roots) {
  const partOf = new Map();
  const take = (path, part) => {
    if (partOf.has(path)) return;
    if (inputs[path] === undefined) throw new Error(`scripts/bundle/parts.mjs: there is no ${path} in the bundle`);
    partOf.set(path, part);
    for (const { path: loaded, kind, external } of inputs[path].imports) {
      if (kind !== "dynamic-import" && external !== true) take(loaded, part);
    }
  };
  for (const [part, paths] of Object.entries(beginnings)) for (const path of paths) take(path, part);
  for (const path of Object.keys(inputs)) if (!partOf.has(path)) partOf.set(path, REST);
  return partOf;
}

/** What modules of other parts load of this one. */
export function offeredBy(part, inputs, partOf) {
  const offered = new Set();
  for (const [path, { imports }] of Object.entries(inputs)) {
    for (const { path: loaded, external } of imports) {
      const isAcross = external !== true && partOf.get(loaded) === part && partOf.get(path) !== part;
      if (isAcross && isOwn(loaded)) offered.add(loaded);
    }
  }
  return [...offered].sort();
}

/** The text of a part's first module: its offers by name, and then whatever it begins with by itself. */
export function partText(offered, begins) {
  const offers = offered.map((path) => `${JSON.stringify(path)}: () => require(${JSON.stringify(`./${path}`)}),`);
  return `module.exports = {\n${offers.join("\n")}\n};\n${begins === null ? "" : `require("./${begins}");\n`}`;
}

/** Makes whatever loads a module of another part ask for it by that part's name and its own. */
export function acrossParts(root, part, partOf) {
  const setup = (build) => {
    build.onResolve({ filter: /^\./ }, async ({ path, resolveDir, importer, kind, pluginData }) => {
      // Our own question, below.
      if (pluginData === acrossParts) return undefined;
      const found = await build.resolve(path, { resolveDir, importer, kind, pluginData: acrossParts });
      const module = relative(root, found.path);
      const other = partOf.get(module);
      if (other === undefined || other === part || !isOwn(module)) return undefined;
      return { path: `part:${other}:${module}`, external: true };
    });
  };
  return { name: "across-parts", setup };
}

/** Packages are in each part that needs them: what they export is not ours to take apart. */
function isOwn(path) {
  return !path.startsWith("node_modules/");
}
