/**
 * YAML text into located values. A policy says each thing where it holds: anchors, aliases, merge keys, tags
 * and further documents are refused, so that what a reader sees is what is meant, and no small file becomes a large one.
 */
import { isAlias, isMap, isScalar, isSeq, LineCounter, type Node, parseAllDocuments } from "yaml";
import { TextFault } from "./faults.js";
import type { Located, LocatedEntry, Place } from "./located.js";

type PlaceOf = (node: { readonly range?: readonly number[] | null | undefined } | null | undefined) => Place;

export function locateYaml(text: string): Located {
  const counter = new LineCounter();
  // Keys that are there twice are found below: the parser's own search takes a time that grows with their square.
  const parsed = parseAllDocuments(text, { lineCounter: counter, uniqueKeys: false, version: "1.2" });
  const placeAt = (offset: number): Place => {
    const { line, col } = counter.linePos(offset);
    return { line, column: col };
  };
  const placeOf: PlaceOf = (node) => placeAt(node?.range?.[0] ?? 0);
  const documents = "empty" in parsed ? [] : parsed;
  const [document, second] = documents;
  const error = documents.flatMap(({ errors }) => errors)[0];
  if (error !== undefined) {
    const [sentence = ""] = error.message.split(/ at line |\n/, 1);
    throw new TextFault({ ...placeAt(error.pos[0]), message: `not YAML: ${sentence}` });
  }
  if (second !== undefined) {
    throw new TextFault({ ...placeAt(second.range?.[0] ?? 0), message: "it holds more than one document" });
  }
  if (document?.contents === null || document === undefined) {
    return { kind: "table", place: { line: 1, column: 1 }, entries: new Map() };
  }
  return located(document.contents, placeOf);
}

function located(node: Node | null, placeOf: PlaceOf): Located {
  const place = placeOf(node);
  if (node === null) return { kind: "scalar", place, value: null };
  if (isAlias(node)) throw new TextFault({ ...place, message: "it has an alias (*name)", hint: "write the value out" });
  if (node.anchor !== undefined) {
    throw new TextFault({ ...place, message: "it has an anchor (&name)", hint: "write the value out where it holds" });
  }
  if (node.tag !== undefined) throw new TextFault({ ...place, message: `it has the tag ${node.tag}` });
  if (isSeq(node)) {
    return { kind: "list", place, items: node.items.map((item) => located(item as Node | null, placeOf)) };
  }
  if (isMap(node)) {
    const entries = new Map<string, LocatedEntry>();
    for (const pair of node.items) {
      const key = pair.key as Node | null;
      const name = keyOf(key, placeOf);
      const keyPlace = placeOf(key);
      if (entries.has(name)) throw new TextFault({ ...keyPlace, message: `the key "${name}" is there twice` });
      entries.set(name, { place: keyPlace, value: located(pair.value as Node | null, placeOf) });
    }
    return { kind: "table", place, entries };
  }
  return { kind: "scalar", place, value: plain(node) };
}

function keyOf(key: Node | null, placeOf: PlaceOf): string {
  const { kind, place, ...rest } = located(key, placeOf);
  if (kind === "scalar" && "value" in rest && typeof rest.value === "string") return rest.value;
  throw new TextFault({ ...place, message: "a key is not a text" });
}

function plain(node: Node): string | number | boolean | null {
  const value: unknown = isScalar(node) ? node.value : null;
  if (value === null || typeof value === "string" || typeof value === "number" || typeof value === "boolean") {
    return value;
  }
  return String(value);
}
