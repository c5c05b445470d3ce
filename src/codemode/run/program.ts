/** A program and what it needs beside it, as files for a sandbox. Pure. */
import type { Language, ModuleCache } from "../modules/index.js";
import type { Catalog } from "../servers/index.js";
import {
  checkerStart,
  globals,
  HOME,
  nodeRuntime,
  nodeStart,
  pythonRuntime,
  TYPESCRIPT_AT,
  toolsPackage,
} from "./inside.js";

export interface ProgramFile {
  readonly path: string;
  readonly bytes: Buffer;
}

export interface Program {
  readonly files: readonly ProgramFile[];
  /** The same for every program of its language. */
  readonly base: readonly ProgramFile[];
  /** It fits what waits for a program. */
  readonly isForNode: boolean;
  /** What is run. Without a compiler it is among the files, with one it is made. */
  readonly main: string;
  /** Checks and translates it; null where that is not needed. */
  readonly compile: readonly string[] | null;
  readonly run: readonly string[];
}

const NODE = ["node", "--no-warnings"];
const MAIN_SOURCE = "main.mts";

export function programOf(
  code: string,
  language: Language,
  catalogs: readonly Catalog[],
  modules: ModuleCache,
): Program {
  if (language === "python") {
    const made = catalogs.map((catalog) => file(`tools/${catalog.module}.py`, modules.python(catalog).source));
    const base = [file("tools/__init__.py", ""), file("tools/runtime.py", pythonRuntime)];
    const main = `${HOME}/main.py`;
    const run = ["python3", "-B", main];
    return { files: [file("main.py", code), ...made], base, isForNode: false, main, compile: null, run };
  }
  const isTyped = language === "typescript";
  const made = catalogs.flatMap((catalog) => {
    const { javascript, declarationFile } = modules.typescript(catalog);
    const at = `node_modules/tools/${catalog.module}`;
    return [file(`${at}.js`, javascript), ...(isTyped ? [file(`${at}.d.ts`, `${declarationFile}export {};\n`)] : [])];
  });
  const base = nodeBase(isTyped);
  const source = file(isTyped ? MAIN_SOURCE : "main.mjs", code);
  const main = isTyped ? `${HOME}/js/main.mjs` : source.path;
  const compile = isTyped ? compiler : null;
  return { files: [source, ...made], base, isForNode: true, main, compile, run: [...NODE, main] };
}

function file(path: string, text: string): ProgramFile {
  return { path: `${HOME}/${path}`, bytes: Buffer.from(text) };
}

function nodeBase(isTyped: boolean): readonly ProgramFile[] {
  return [
    file("node_modules/tools/package.json", toolsPackage),
    file("node_modules/tools/runtime.js", nodeRuntime),
    ...(isTyped ? [file("globals.d.ts", globals)] : []),
  ];
}

const COMPILER_OPTIONS = [
  ..."--target es2023 --lib es2023 --module nodenext --strict --skipLibCheck --noEmitOnError".split(" "),
  ...`--pretty false --rootDir ${HOME} --outDir ${HOME}/js`.split(" "),
];

const compiler = [`${TYPESCRIPT_AT}/tsc`, ...COMPILER_OPTIONS, `${HOME}/${MAIN_SOURCE}`, `${HOME}/globals.d.ts`];

/** What is started before there is a program, and waits for it: for its path, and for its text. */
export const waiting = {
  base: [...nodeBase(true), file("node_modules/tools/start.js", nodeStart)],
  run: [...NODE, `${HOME}/node_modules/tools/start.js`],
  compile: ["sh", "-c", checkerStart, "sh", `${HOME}/${MAIN_SOURCE}`, ...compiler],
} as const;

/** Whether a file is the program's source, which a compiler that waits gets otherwise. */
export function isSource({ path }: ProgramFile): boolean {
  return path === `${HOME}/${MAIN_SOURCE}`;
}

/** Servers whose modules a program names. A name in a comment only brings a module that is not needed. */
export function namedModules(code: string, modules: readonly string[], language: Language): readonly string[] {
  const named = (module: string) =>
    language === "python" ? /\btools\b/.test(code) && wordIn(code, module) : code.includes(`tools/${module}`);
  return modules.filter(named);
}

function wordIn(code: string, word: string): boolean {
  return new RegExp(`\\b${word}\\b`).test(code);
}
