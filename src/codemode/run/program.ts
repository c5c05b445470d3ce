/** A program and what it needs beside it, as files for a sandbox. Pure. */
import type { Language, ModuleCache } from "../modules/index.js";
import type { Catalog } from "../servers/index.js";
import { globals, HOME, nodeRuntime, pythonRuntime, TYPESCRIPT_AT, toolsPackage } from "./inside.js";

export interface ProgramFile {
  readonly path: string;
  readonly bytes: Buffer;
}

export interface Program {
  readonly files: readonly ProgramFile[];
  /** Checks and translates it; null where that is not needed. */
  readonly compile: readonly string[] | null;
  readonly run: readonly string[];
}

const NODE = ["node", "--no-warnings"];

export function programOf(
  code: string,
  language: Language,
  catalogs: readonly Catalog[],
  modules: ModuleCache,
): Program {
  const file = (path: string, text: string): ProgramFile => ({ path: `${HOME}/${path}`, bytes: Buffer.from(text) });
  if (language === "python") {
    const made = catalogs.map((catalog) => file(`tools/${catalog.module}.py`, modules.python(catalog).source));
    const files = [
      file("main.py", code),
      file("tools/__init__.py", ""),
      file("tools/runtime.py", pythonRuntime),
      ...made,
    ];
    return { files, compile: null, run: ["python3", "-B", `${HOME}/main.py`] };
  }
  const isTyped = language === "typescript";
  const made = catalogs.flatMap((catalog) => {
    const { javascript, declarationFile } = modules.typescript(catalog);
    const at = `node_modules/tools/${catalog.module}`;
    return [file(`${at}.js`, javascript), ...(isTyped ? [file(`${at}.d.ts`, `${declarationFile}export {};\n`)] : [])];
  });
  const beside = [
    file("node_modules/tools/package.json", toolsPackage),
    file("node_modules/tools/runtime.js", nodeRuntime),
    ...made,
  ];
  if (!isTyped)
    return { files: [file("main.mjs", code), ...beside], compile: null, run: [...NODE, `${HOME}/main.mjs`] };
  return {
    files: [file("main.mts", code), file("globals.d.ts", globals), ...beside],
    compile: [`${TYPESCRIPT_AT}/tsc`, ...COMPILER_OPTIONS, `${HOME}/main.mts`, `${HOME}/globals.d.ts`],
    run: [...NODE, `${HOME}/js/main.mjs`],
  };
}

const COMPILER_OPTIONS = [
  ..."--target es2023 --lib es2023 --module nodenext --strict --skipLibCheck --noEmitOnError".split(" "),
  ...`--pretty false --rootDir ${HOME} --outDir ${HOME}/js`.split(" "),
];

/** Servers whose modules a program names. A name in a comment only brings a module that is not needed. */
export function namedModules(code: string, modules: readonly string[], language: Language): readonly string[] {
  const named = (module: string) =>
    language === "python" ? /\btools\b/.test(code) && wordIn(code, module) : code.includes(`tools/${module}`);
  return modules.filter(named);
}

function wordIn(code: string, word: string): boolean {
  return new RegExp(`\\b${word}\\b`).test(code);
}
