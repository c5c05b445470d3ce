/**
 * TypeScript's compiler, where it is installed. It is a native program, shown to the sandbox read-only and run in it: a
 * program that it compiles can name files, and those must be the sandbox's.
 */
import { existsSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { AgentKernelError } from "../../core/errors.js";

/** From the bundle in dist/ or dist/chunks/, or a source file three levels below the checkout; or beside the package. */
const PLACES = ["../node_modules", "../../node_modules", "../../../node_modules", "../..", "../../.."];

export function compilerFolder(named: string | undefined, places = usualPlaces()): string {
  if (named !== undefined && named !== "") {
    if (existsSync(join(named, "tsc"))) return named;
    throw new AgentKernelError("invalid_argument", `AGENTKERNEL_TYPESCRIPT is ${named}, and there is no tsc in it`, {
      hint: `name the folder lib of the package ${packageName}, or leave it unset`,
    });
  }
  const found = places
    .map((place) => join(place, packageName, "lib"))
    .find((folder) => existsSync(join(folder, "tsc")));
  if (found !== undefined) return found;
  throw new AgentKernelError("unsupported", "TypeScript's compiler is not installed, so types cannot be checked", {
    hint: 'npm install -g typescript@7 installs it, or name its folder in AGENTKERNEL_TYPESCRIPT; without it use the language "javascript" or "python"',
  });
}

const packageName = `@typescript/typescript-${process.platform}-${process.arch}`;

/** As an optional dependency it lies around us; as a package of its own where this Node has what is installed for all. */
function usualPlaces(): readonly string[] {
  const here = dirname(fileURLToPath(import.meta.url));
  const global = join(dirname(realpathSync(process.execPath)), "../lib/node_modules");
  return [...PLACES.map((place) => join(here, place)), join(global, "typescript/node_modules"), global];
}

const MOST_ERRORS = 20;
const MOST_CHARS = 300;

/** What the compiler says, with the lines that it speaks of. */
export function readableErrors(said: string, code: string): readonly string[] {
  const lines = code.split("\n");
  const told = said.split("\n").filter((line) => line.trim() !== "");
  const shown = told.slice(0, MOST_ERRORS).map((line) => {
    const [, row, column, message] = /main\.mts\((\d+),(\d+)\): (.*)$/.exec(line) ?? [];
    if (row === undefined || message === undefined) return line.slice(0, MOST_CHARS);
    const source = (lines[Number(row) - 1] ?? "").trim().slice(0, MOST_CHARS);
    return `line ${row}, column ${column}: ${message.slice(0, MOST_CHARS)}\n    ${source}`;
  });
  return told.length > MOST_ERRORS ? [...shown, `and ${told.length - MOST_ERRORS} more lines`] : shown;
}
