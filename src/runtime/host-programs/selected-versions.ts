/**
 * Version managers put a directory of stand-ins on PATH, which look up what is selected whenever they run and need the
 * manager's own files for it. In a sandbox the selected versions take their place: they are looked up here, by the
 * files that the managers read, and nothing is executed for it.
 */
import { dirname, join } from "node:path";
import type { Looks } from "../looks.js";
import type { HostProgramOptions } from "./options.js";

interface Manager {
  readonly root: string;
  /** The variable that names a version, and the file that does. */
  readonly variable: string;
  readonly file: string;
}

const managers: readonly Manager[] = [
  { root: ".pyenv", variable: "PYENV_VERSION", file: ".python-version" },
  { root: ".rbenv", variable: "RBENV_VERSION", file: ".ruby-version" },
  { root: ".nodenv", variable: "NODENV_VERSION", file: ".node-version" },
  { root: ".goenv", variable: "GOENV_VERSION", file: ".go-version" },
];

/** Managers of many tools: where they are, and the files in which they look, the nearest first. */
const collections: readonly { readonly root: string; readonly files: readonly string[] }[] = [
  { root: ".asdf", files: [".tool-versions"] },
  { root: ".local/share/mise", files: ["mise.toml", ".mise.toml", ".config/mise/config.toml", ".tool-versions"] },
];

const VERSION = /^[A-Za-z0-9][A-Za-z0-9._+-]*$/;
const MOST_BYTES = 16_384;

interface Surroundings extends Pick<HostProgramOptions, "env" | "homeDir" | "projectDir"> {
  readonly looks: Looks;
}

/** The directories of programs that stand-ins in `real` would choose from; null where it holds no stand-ins. */
export function selectedDirectories(
  real: string,
  homes: readonly string[],
  surroundings: Surroundings,
): readonly string[] | null {
  for (const home of homes) {
    const manager = managers.find(({ root }) => isStandIns(real, join(home, root)));
    if (manager !== undefined) return ofManager({ ...manager, root: join(home, manager.root) }, surroundings);
    const collection = collections.find(({ root }) => real === join(home, root, "shims"));
    if (collection !== undefined) return ofCollection(join(home, collection.root), collection.files, surroundings);
  }
  return null;
}

/** Plugins have stand-ins of their own, for the same programs. */
function isStandIns(real: string, root: string): boolean {
  return real === join(root, "shims") || (real.startsWith(`${root}/plugins/`) && real.endsWith("/shims"));
}

function ofManager({ root, variable, file }: Manager, surroundings: Surroundings): readonly string[] {
  const { env, looks } = surroundings;
  const named = env[variable]?.replaceAll(":", " ") ?? "";
  const texts = [() => named, ...nearest(surroundings, [file]), () => looks.text(join(root, "version"), MOST_BYTES)];
  const words = firstWords(texts);
  return words.flatMap((word) => {
    const version = installed(join(root, "versions"), word.replace(/^python-/, ""), looks);
    return version === null ? [] : [join(version, "bin")];
  });
}

function firstWords(texts: readonly (() => string)[]): readonly string[] {
  for (const text of texts) {
    const words = text()
      .split("\n")
      .flatMap((line) => line.replace(/#.*/, "").trim().split(/\s+/))
      .filter((word) => VERSION.test(word));
    if (words.length > 0) return words;
  }
  return [];
}

function ofCollection(root: string, files: readonly string[], surroundings: Surroundings): readonly string[] {
  const found = new Map<string, string>();
  for (const text of nearest(surroundings, files)) {
    for (const [tool, version] of selections(text())) if (!found.has(tool)) found.set(tool, version);
  }
  return [...found].flatMap(([tool, word]) => {
    const version = installed(join(root, "installs", tool), word, surroundings.looks);
    return version === null ? [] : [programsOf(version, surroundings.looks)];
  });
}

/** Lines of `.tool-versions`, and of the table `[tools]` of a TOML file: `node 20.1.0`, `node = "20"`. */
function selections(text: string): readonly (readonly [tool: string, version: string])[] {
  let isInTable = true;
  return text.split("\n").flatMap((line) => {
    const table = /^\s*\[\s*([\w.-]+)\s*\]/.exec(line);
    if (table !== null) isInTable = table[1] === "tools";
    const found = /^\s*"?([A-Za-z0-9][\w.-]*)"?(?:\s*=\s*|\s+)"?([A-Za-z0-9][\w.+-]*)"?/.exec(line);
    const [, tool, version] = found ?? [];
    return isInTable && tool !== undefined && version !== undefined ? [[tool, version] as const] : [];
  });
}

function programsOf(version: string, looks: Looks): string {
  const inside = ["bin", "go/bin"].map((name) => join(version, name));
  return inside.find((path) => looks.isDirectory(path)) ?? version;
}

/** The version of that name, else the newest whose name begins with it. */
function installed(folder: string, word: string, looks: Looks): string | null {
  if (!VERSION.test(word)) return null;
  if (looks.isDirectory(join(folder, word))) return join(folder, word);
  const candidates = looks.names(folder).filter((name) => name.startsWith(`${word}.`) && VERSION.test(name));
  const newest = candidates.sort((a, b) => a.localeCompare(b, "en", { numeric: true })).at(-1);
  return newest === undefined ? null : join(folder, newest);
}

/** Files from the project upwards, then in the home. */
function nearest({ projectDir, homeDir, looks }: Surroundings, files: readonly string[]): readonly (() => string)[] {
  const folders: string[] = [];
  for (let at = projectDir; at !== null && at !== "/"; at = dirname(at)) folders.push(at);
  return [...folders, homeDir].flatMap((folder) =>
    files.map((file) => () => looks.text(join(folder, file), MOST_BYTES)),
  );
}
