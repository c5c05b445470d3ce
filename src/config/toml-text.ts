/** TOML text into located values. The grammar, and that no key is there twice, are the parser's own business. */
import { type AST, ParseError, parseTOML } from "toml-eslint-parser";
import { TextFault } from "./faults.js";
import type { Located, LocatedEntry, Place } from "./located.js";

interface OpenTable {
  readonly kind: "table";
  readonly place: Place;
  readonly entries: Map<string, LocatedEntry>;
}

export function locateToml(text: string): Located {
  const root: OpenTable = openTable({ line: 1, column: 1 });
  for (const node of parse(text).body[0].body) {
    if (node.type === "TOMLKeyValue") insert(root, node);
    else for (const pair of node.body) insert(tableFor(root, node), pair);
    if (node.type === "TOMLTable" && node.body.length === 0) tableFor(root, node);
  }
  return root;
}

function parse(text: string): AST.TOMLProgram {
  try {
    return parseTOML(text, { tomlVersion: "1.0" });
  } catch (error) {
    if (!(error instanceof ParseError)) throw error;
    throw new TextFault({ line: error.lineNumber, column: error.column + 1, message: `not TOML: ${error.message}` });
  }
}

/** The table that a `[header]` opens; of `[[header]]` the element that it adds. */
function tableFor(root: OpenTable, node: AST.TOMLTable): OpenTable {
  let table = root;
  const { resolvedKey } = node;
  for (const [index, key] of resolvedKey.entries()) {
    if (typeof key === "number") continue;
    const next = resolvedKey[index + 1];
    const place = placeOf(node.key);
    table = typeof next === "number" ? elementOf(table, key, next, place) : childOf(table, key, place);
  }
  return table;
}

function childOf(table: OpenTable, key: string, place: Place): OpenTable {
  const known = table.entries.get(key)?.value;
  if (known?.kind === "table") return known as OpenTable;
  const child = openTable(place);
  table.entries.set(key, { place, value: child });
  return child;
}

function elementOf(table: OpenTable, key: string, index: number, place: Place): OpenTable {
  const known = table.entries.get(key)?.value;
  const items = known?.kind === "list" ? [...known.items] : [];
  const element = (items[index] as OpenTable | undefined) ?? openTable(place);
  items[index] = element;
  table.entries.set(key, { place: known?.place ?? place, value: { kind: "list", place, items } });
  return element;
}

function insert(table: OpenTable, pair: AST.TOMLKeyValue): void {
  const keys = pair.key.keys.map((key) => ({ name: key.type === "TOMLBare" ? key.name : key.value, key }));
  let target = table;
  for (const { name, key } of keys.slice(0, -1)) target = childOf(target, name, placeOf(key));
  const last = keys.at(-1);
  if (last !== undefined) target.entries.set(last.name, { place: placeOf(last.key), value: contentOf(pair.value) });
}

function contentOf(node: AST.TOMLContentNode): Located {
  const place = placeOf(node);
  if (node.type === "TOMLArray") return { kind: "list", place, items: node.elements.map(contentOf) };
  if (node.type === "TOMLInlineTable") {
    const table = openTable(place);
    for (const pair of node.body) insert(table, pair);
    return table;
  }
  const isDate = node.kind !== "string" && node.kind !== "boolean" && node.kind !== "integer" && node.kind !== "float";
  return { kind: "scalar", place, value: isDate ? node.datetime : node.value };
}

function openTable(place: Place): OpenTable {
  return { kind: "table", place, entries: new Map() };
}

function placeOf(node: { readonly loc: { readonly start: Place } }): Place {
  return { line: node.loc.start.line, column: node.loc.start.column + 1 };
}
