/**
 * Reads the imports of the source tree and judges them against the one direction in which dependencies may point.
 * The judgement is over a plain map of modules, so that tests can also feed it a tree that breaks the rules.
 */
import { readdirSync, readFileSync } from "node:fs";
import { posix } from "node:path";

/** Path of a module relative to the repository root → paths of the modules of ours that it imports. */
type ModuleGraph = ReadonlyMap<string, readonly string[]>;

const vocabulary = ["core", "settings"];
const knowledge = [...vocabulary, "policy", "detect", "guest", "images", "machine", "doctor"];
const walls = [...knowledge, "backends", "egress"];
const lifecycle = [...walls, "audit", "runtime", "config", "setup"];
const surfaces = [...lifecycle, "request", "api", "mcp", "codemode", "e2b", "published"];

/** Folder of src → folders that it may import, beside itself. A folder that is not here has no place yet. */
export const allowedImports: ReadonlyMap<string, readonly string[]> = new Map([
  ["settings", []],
  ["core", ["settings"]],
  ["policy", vocabulary],
  ["detect", vocabulary],
  ["guest", vocabulary],
  ["images", vocabulary],
  ["machine", vocabulary],
  ["doctor", vocabulary],
  ["setup", [...vocabulary, "doctor", "machine"]],
  ["config", [...vocabulary, "policy", "detect"]],
  ["audit", vocabulary],
  ["backends", knowledge],
  ["egress", knowledge],
  ["runtime", [...walls, "audit"]],
  ["request", lifecycle],
  ["api", [...lifecycle, "request"]],
  ["mcp", [...lifecycle, "request", "api"]],
  ["codemode", [...lifecycle, "request", "api", "mcp"]],
  ["e2b", [...lifecycle, "request", "api"]],
  ["published", [...lifecycle, "request", "api"]],
  ["agents", [...vocabulary, "detect"]],
  ["invocation", [...vocabulary, "runtime"]],
  ["daemon", [...surfaces, "invocation"]],
  ["cli", [...surfaces, "invocation", "daemon", "agents"]],
]);

const atLoadPatterns = [
  /^\s*(?:import|export)\b[^"';]*?\bfrom\s*["']([^"']+)["']/gm,
  /^\s*import\s*["']([^"']+)["']/gm,
];
const lazyPattern = /\bimport\s*\(\s*["']([^"']+)["']/g;

/** `at-load` leaves out `import()`: a table of verbs may load lazily what itself reads the table. */
type ImportKinds = "all" | "at-load";

/** The specifiers that a source text imports. */
export function importSpecifiers(text: string, kinds: ImportKinds): string[] {
  const code = text.replace(/\/\*[\s\S]*?\*\//g, "").replace(/^\s*\/\/.*$/gm, "");
  const patterns = kinds === "all" ? [...atLoadPatterns, lazyPattern] : atLoadPatterns;
  return patterns.flatMap((pattern) => [...code.matchAll(pattern)].map((match) => match[1] ?? ""));
}

export function filesUnder(folder: string, extension: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(extension))
    .map((entry) => posix.join(entry.parentPath, entry.name))
    .filter((path) => !path.includes("/target/"))
    .sort();
}

export function readModuleGraph(folder: string, kinds: ImportKinds): ModuleGraph {
  const modules = filesUnder(folder, ".ts").filter((path) => !path.endsWith(".test.ts"));
  return new Map(modules.map((path) => [path, ownImports(path, readFileSync(path, "utf8"), kinds)]));
}

function ownImports(path: string, text: string, kinds: ImportKinds): string[] {
  return importSpecifiers(text, kinds)
    .filter((specifier) => specifier.startsWith("."))
    .map((specifier) => posix.join(posix.dirname(path), specifier).replace(/\.js$/, ".ts"));
}

function folderOf(path: string): string | undefined {
  return /^src\/([^/]+)\//.exec(path)?.[1];
}

/** Data that several languages share, below every folder: the specification, and the lists of denied calls. */
export function isSharedData(path: string): boolean {
  return /^(?:spec|native\/jail\/seccomp)\/.+\.json$/.test(path);
}

/** One sentence per import that points the wrong way. */
export function forbiddenImports(graph: ModuleGraph): string[] {
  const faults: string[] = [];
  for (const [path, imports] of graph) {
    const folder = folderOf(path);
    const allowed = folder === undefined ? undefined : allowedImports.get(folder);
    if (folder === undefined || allowed === undefined) {
      faults.push(`${path} lies in no folder that the dependency order names`);
      continue;
    }
    for (const target of imports) {
      if (isSharedData(target)) continue;
      const targetFolder = folderOf(target);
      if (targetFolder !== folder && (targetFolder === undefined || !allowed.includes(targetFolder))) {
        faults.push(`${path} must not import ${target}`);
      }
    }
  }
  return faults;
}

/** Each cycle once, as the path that closes it. */
export function importCycles(graph: ModuleGraph): string[] {
  const cycles: string[] = [];
  const finished = new Set<string>();
  const visit = (path: string, trail: readonly string[]): void => {
    const start = trail.indexOf(path);
    if (start >= 0) {
      cycles.push([...trail.slice(start), path].join(" → "));
      return;
    }
    if (finished.has(path)) return;
    for (const target of graph.get(path) ?? []) visit(target, [...trail, path]);
    finished.add(path);
  };
  for (const path of graph.keys()) visit(path, []);
  return cycles;
}
