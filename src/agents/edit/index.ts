/**
 * src/agents/edit owns changes to files that belong to somebody else. Each edit says what has to be in a file; making
 * it so leaves every other byte alone, and taking it back does too. Pure over texts: nothing here reads or writes. A
 * text that cannot be understood is never changed.
 */

import { ensureJson, type JsonEdit, removeJson, sameJson } from "./json-edit.js";
import { ensureBlock, removeBlock } from "./marked-block.js";
import { ensureTables, removeTables, sameTables, type TomlTables } from "./toml-tables.js";
import { ensureWhole, removeWhole } from "./whole-file.js";

export type Edit =
  | JsonEdit
  | TomlTables
  /** Lines between two marks of ours, in a text for people. */
  | { readonly kind: "block"; readonly text: string }
  /** A file that is ours from its first byte to its last. */
  | { readonly kind: "whole"; readonly text: string };

/** Null: there is no such file. */
export type FileText = string | null;

/** The text in which the edit holds; the same text where it holds already. `name` is for messages. */
export function ensure(text: FileText, edit: Edit, name: string): string {
  switch (edit.kind) {
    case "json-set":
    case "json-item":
    case "json-grouped":
      return ensureJson(text, edit, name);
    case "toml-tables":
      return ensureTables(text, edit, name);
    case "block":
      return ensureBlock(text, edit.text, name);
    case "whole":
      return ensureWhole(text, edit.text, name);
  }
}

/** The text without what the edit brings. Null: nothing of it is left. */
export function remove(text: string, edit: Edit, name: string): FileText {
  switch (edit.kind) {
    case "json-set":
    case "json-item":
    case "json-grouped":
      return removeJson(text, edit, name);
    case "toml-tables":
      return removeTables(text, edit, name);
    case "block":
      return removeBlock(text, name);
    case "whole":
      return removeWhole(text, edit.text);
  }
}

/** Whether two texts say the same; containers that hold nothing do not count. */
export function meansTheSame(one: FileText, other: FileText, { kind }: Edit, name: string): boolean {
  if (kind === "json-set" || kind === "json-item" || kind === "json-grouped") return sameJson(one, other, name);
  if (kind === "toml-tables") return sameTables(one, other, name);
  return (one ?? "").trim() === (other ?? "").trim();
}
