/** Bytes of a file into text that the parsers can be trusted with: bounded, valid, and not nested without end. */
import { type Fault, type FileFault, isTextFault, TextFault } from "./faults.js";
import type { Located } from "./located.js";

export const maxFileBytes = 1024 * 1024;
/** Parsers get slow or run out of stack far beyond this; our own files need five. */
const MAX_DEPTH = 64;

export interface SourceFile {
  /** As the user knows it; every message starts with it. */
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** A file that was understood, or everything that is wrong with it. */
export type ReadFile<T> =
  | { readonly value: T; readonly faults: readonly [] }
  | { readonly value: null; readonly faults: readonly FileFault[] };

export type Language = "toml" | "yaml" | "json";

/** The tree of a file, or its first fault. Only the parser that it needs is loaded. */
export async function locate(file: SourceFile, language: Language): Promise<Located | FileFault> {
  try {
    const text = decode(file.bytes);
    refuseDepth(text);
    if (language === "toml") return (await import("./toml-text.js")).locateToml(text);
    if (language === "json") return (await import("./json-text.js")).locateJson(text);
    return (await import("./yaml-text.js")).locateYaml(text);
  } catch (error) {
    if (isTextFault(error)) return { file: file.name, ...error.fault };
    // The one error of the language's own that a text can cause: nesting beyond the stack.
    if (error instanceof RangeError) return { file: file.name, ...start("it is nested too deep") };
    throw error;
  }
}

function decode(bytes: Uint8Array): string {
  if (bytes.length > maxFileBytes) throw new TextFault(start(`it is larger than ${maxFileBytes} bytes`));
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) {
    throw new TextFault(start("it starts with a byte order mark", "save it as UTF-8 without one"));
  }
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new TextFault(start("it is not UTF-8 text", "save it as UTF-8"));
  }
  const nul = text.indexOf("\0");
  if (nul >= 0) throw new TextFault({ ...placeAt(text, nul), message: "it has a NUL character" });
  return text;
}

function start(message: string, hint?: string): Fault {
  return { line: 1, column: 1, message, ...(hint === undefined ? {} : { hint }) };
}

export function placeAt(text: string, offset: number): { line: number; column: number } {
  const before = text.slice(0, offset);
  const lineStart = before.lastIndexOf("\n") + 1;
  return { line: before.split("\n").length, column: offset - lineStart + 1 };
}

/** Counts brackets wherever they stand: what is refused wrongly has dozens of unclosed ones in its texts. */
function refuseDepth(text: string): void {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (character === "[" || character === "{") depth++;
    else if (character === "]" || character === "}") depth--;
    if (depth > MAX_DEPTH) throw new TextFault({ ...placeAt(text, at), message: "it is nested too deep" });
  }
}
