/** Values as a file has them, each with its place. Keys are in maps, so that no key means anything to JavaScript. */
export interface Place {
  /** Both from 1. */
  readonly line: number;
  readonly column: number;
}

interface LocatedTable {
  readonly kind: "table";
  readonly place: Place;
  readonly entries: ReadonlyMap<string, LocatedEntry>;
}

export interface LocatedEntry {
  /** Of the key. */
  readonly place: Place;
  readonly value: Located;
}

interface LocatedList {
  readonly kind: "list";
  readonly place: Place;
  readonly items: readonly Located[];
}

interface LocatedScalar {
  readonly kind: "scalar";
  readonly place: Place;
  /** Dates and other forms that no key of ours takes arrive as their text. */
  readonly value: string | number | boolean | null;
}

export type Located = LocatedTable | LocatedList | LocatedScalar;

/** The line on which the key at the end of `path` is written, or the file's first. */
export function lineOf(root: Located, path: readonly string[]): number {
  let node = root;
  let { line } = root.place;
  for (const key of path) {
    const entry = node.kind === "table" ? node.entries.get(key) : undefined;
    if (entry === undefined) return line;
    line = entry.place.line;
    node = entry.value;
  }
  return line;
}

/** What a value is, in words that people who write these files use. */
export function kindOf(node: Located): string {
  if (node.kind !== "scalar") return node.kind === "table" ? "a table" : "a list";
  if (node.value === null) return "empty";
  if (typeof node.value === "string") return "a text";
  return typeof node.value === "number" ? "a number" : "true or false";
}
