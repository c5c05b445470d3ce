/** The targets of the fuzzers, and the inputs that are kept for each. Replays are bounded by number and size. */
import type { Buffer } from "node:buffer";
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** As in `native/corpus`. */
export const MOST_INPUTS = 200;
export const MOST_BYTES = 16 << 10;

const namesIn = (folder: string, extension: string): string[] =>
  readdirSync(folder)
    .filter((name) => name.endsWith(extension))
    .map((name) => name.slice(0, -extension.length))
    .sort();

/** Of TypeScript; the others are Rust's. */
export const scriptTargets = (): string[] => namesIn(here("targets"), ".ts");
export const nativeTargets = (): string[] => namesIn(here("../../native/fuzz/src/bin"), ".rs");
export const corpora = (): string[] => readdirSync(here("corpus")).sort();

interface KeptInput {
  readonly name: string;
  readonly bytes: Buffer;
}

export function keptInputs(target: string): KeptInput[] {
  const folder = here(`corpus/${target}`);
  const names = readdirSync(folder).sort();
  return names.map((name) => ({ name, bytes: readFileSync(`${folder}/${name}`) }));
}
