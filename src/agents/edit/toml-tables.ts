/**
 * Tables of ours in a TOML text: `[name]` and `[name.…]`. They are put at the end and taken out as whole lines, so that
 * no other line is touched. What is there is known from a real parser, never from looking for words.
 */
import { type AST, getStaticTOMLValue, ParseError, parseTOML } from "toml-eslint-parser";
import { notUnderstood, taken } from "./unreadable.js";

export interface TomlTables {
  readonly kind: "toml-tables";
  /** The table that all of them are or lie below. */
  readonly path: readonly string[];
  /** The lines of the tables. */
  readonly text: string;
  readonly isOurs: (value: unknown) => boolean;
  readonly suffices: (value: unknown) => boolean;
  /** What is wrong with it even so; null: nothing. */
  readonly objection?: (value: unknown) => string | null;
}

export function ensureTables(text: string | null, edit: TomlTables, name: string): string {
  const before = text ?? "";
  const program = parse(before, name);
  const there = valueAt(program, edit.path);
  if (there === undefined) return checked(appended(before, edit.text), name);
  const objection = edit.objection?.(there) ?? null;
  if (objection === null && edit.suffices(there)) return before;
  if (objection !== null || !edit.isOurs(there)) {
    const why = objection ?? "is not ours";
    throw taken(name, `[${edit.path.join(".")}] is there already, and ${why}`, "rename or remove it");
  }
  return checked(appended(cut(before, program, edit, name), edit.text), name);
}

export function removeTables(text: string, edit: TomlTables, name: string): string | null {
  const program = parse(text, name);
  const there = valueAt(program, edit.path);
  if (there === undefined || !edit.isOurs(there)) return text;
  const rest = checked(cut(text, program, edit, name), name);
  return rest.trim() === "" ? null : rest;
}

export function sameTables(one: string | null, other: string | null, name: string): boolean {
  const meaning = (text: string | null) => JSON.stringify(getStaticTOMLValue(parse(text ?? "", name)));
  return meaning(one) === meaning(other);
}

function appended(text: string, tables: string): string {
  const gap = text === "" ? "" : text.endsWith("\n\n") ? "" : text.endsWith("\n") ? "\n" : "\n\n";
  return `${text}${gap}${tables.trimEnd()}\n`;
}

/** Whole lines from each header of ours to the next header, with comments above the next one left to it. */
function cut(text: string, program: AST.TOMLProgram, { path }: TomlTables, name: string): string {
  const lines = text.split("\n");
  const top = program.body[0].body;
  let isFound = false;
  for (const node of top.toReversed()) {
    if (node.type !== "TOMLTable" || !isBelow(node.resolvedKey, path)) continue;
    isFound = true;
    const last = node.body.at(-1)?.loc.end.line ?? node.key.loc.end.line;
    const first = node.loc.start.line;
    const isBlankAfter = (lines[last] ?? "").trim() === "" && last < lines.length - 1;
    const isBlankBefore = first > 1 && (lines[first - 2] ?? "").trim() === "";
    const from = isBlankBefore && (isBlankAfter || last >= lines.length - 1) ? first - 2 : first - 1;
    lines.splice(from, last - from);
  }
  if (!isFound) {
    throw taken(name, `${path.join(".")} is not written as a [table] of its own`, "take it out by hand");
  }
  return lines.join("\n");
}

function isBelow(key: readonly (string | number)[], path: readonly string[]): boolean {
  return path.every((word, index) => key[index] === word);
}

/** A change of ours must never leave a file that its owner cannot read. */
function checked(text: string, name: string): string {
  parse(text, name);
  return text;
}

function valueAt(program: AST.TOMLProgram, path: readonly string[]): unknown {
  let value: unknown = getStaticTOMLValue(program);
  for (const word of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, word)) return undefined;
    value = (value as Readonly<Record<string, unknown>>)[word];
  }
  return value;
}

function parse(text: string, name: string): AST.TOMLProgram {
  try {
    return parseTOML(text, { tomlVersion: "1.0" });
  } catch (error) {
    if (!(error instanceof ParseError)) throw error;
    throw notUnderstood(name, error.lineNumber, error.column + 1, `not TOML: ${error.message}`);
  }
}
