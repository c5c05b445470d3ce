/** One member or one item of a JSON or JSONC text, put in and taken out with comments and order kept. */
import { isDeepStrictEqual } from "node:util";
import {
  applyEdits,
  type FormattingOptions,
  findNodeAtLocation,
  type JSONPath,
  modify,
  type Node,
  type ParseError,
  parseTree,
  printParseErrorCode,
} from "jsonc-parser";
import { notUnderstood, placeAt, taken } from "./unreadable.js";

export type JsonEdit = JsonMember | JsonItem;

interface JsonMember {
  readonly kind: "json-set";
  readonly path: readonly string[];
  readonly value: unknown;
  /** Whether what is there is ours in an older or another form, and may be replaced. */
  readonly isOurs: (value: unknown) => boolean;
  /** Whether what is there does as well, whatever the user has added to it. */
  readonly suffices: (value: unknown) => boolean;
}

interface JsonItem {
  readonly kind: "json-item";
  /** Of the list. */
  readonly path: readonly string[];
  readonly value: unknown;
  readonly isOurs: (value: unknown) => boolean;
  /** Other lists that may hold the same item, in which case the user has decided and nothing is added. */
  readonly unlessIn?: readonly (readonly string[])[];
}

export function ensureJson(text: string | null, edit: JsonEdit, name: string): string {
  const before = text === null || text.trim() === "" ? "{}\n" : text;
  const tree = rootOf(before, name);
  checkContainers(before, tree, edit, name);
  if (edit.kind === "json-set") {
    const there = findNodeAtLocation(tree, [...edit.path]);
    if (there !== undefined) {
      const value = plainValue(there);
      if (edit.suffices(value)) return text ?? before;
      if (!edit.isOurs(value)) {
        const { line } = placeAt(before, there.offset);
        throw taken(
          `${name}:${line}`,
          `${edit.path.join(".")} is there already, and is not ours`,
          "rename or remove it",
        );
      }
    }
    return put(before, [...edit.path], edit.value);
  }
  if (
    (edit.unlessIn ?? []).some((path) => itemsAt(tree, path).some(({ value }) => isDeepStrictEqual(value, edit.value)))
  )
    return text ?? before;
  const items = itemsAt(tree, edit.path);
  const own = items.find(({ value }) => edit.isOurs(value));
  if (own !== undefined) {
    if (isDeepStrictEqual(own.value, edit.value)) return text ?? before;
    return put(before, [...edit.path, own.index], edit.value);
  }
  return put(before, [...edit.path, items.length], edit.value, true);
}

export function removeJson(text: string, edit: JsonEdit, name: string): string | null {
  const tree = rootOf(text, name);
  let result = text;
  if (edit.kind === "json-set") {
    const there = findNodeAtLocation(tree, [...edit.path]);
    const value = there === undefined ? undefined : plainValue(there);
    if (there === undefined || !edit.isOurs(value)) return text;
    result = put(text, [...edit.path], undefined);
  } else {
    const own = itemsAt(tree, edit.path).findLast(({ value }) => edit.isOurs(value));
    if (own === undefined) return text;
    result = put(text, [...edit.path, own.index], undefined);
  }
  return isNothing(plainValue(rootOf(result, name))) && !hasComment(result) ? null : result;
}

export function sameJson(one: string | null, other: string | null, name: string): boolean {
  const meaning = (text: string | null): unknown =>
    text === null || text.trim() === "" ? undefined : pruned(plainValue(rootOf(text, name)));
  return isDeepStrictEqual(meaning(one), meaning(other));
}

function put(text: string, path: JSONPath, value: unknown, isArrayInsertion = false): string {
  return applyEdits(text, modify(text, path, value, { formattingOptions: layoutOf(text), isArrayInsertion }));
}

/** As the user writes: tabs or so many spaces, and the same line ends. */
function layoutOf(text: string): FormattingOptions {
  const indent = /\n([ \t]+)"/.exec(text)?.[1] ?? "  ";
  const tabs = indent.startsWith("\t");
  return { insertSpaces: !tabs, tabSize: tabs ? 1 : indent.length, eol: text.includes("\r\n") ? "\r\n" : "\n" };
}

function rootOf(text: string, name: string): Node {
  const faults: ParseError[] = [];
  const tree = parseTree(text, faults, { allowTrailingComma: true });
  const [fault] = faults;
  if (fault !== undefined) {
    const { line, column } = placeAt(text, fault.offset);
    throw notUnderstood(name, line, column, `not JSON: ${sentence(printParseErrorCode(fault.error))}`);
  }
  if (tree?.type !== "object") throw notUnderstood(name, 1, 1, "the file holds no JSON object");
  refuseTwice(text, tree, name);
  return tree;
}

/** Of a key that is there twice nobody can say which one counts. */
function refuseTwice(text: string, node: Node, name: string): void {
  const seen = new Set<string>();
  for (const child of node.children ?? []) {
    const key = node.type === "object" ? child.children?.[0] : undefined;
    if (key !== undefined) {
      const { line, column } = placeAt(text, key.offset);
      if (seen.has(String(key.value))) throw notUnderstood(name, line, column, `the key "${key.value}" is there twice`);
      seen.add(String(key.value));
    }
    refuseTwice(text, child, name);
  }
}

/** What is on the way to our place must be of the kind that we would make. */
function checkContainers(text: string, tree: Node, edit: JsonEdit, name: string): void {
  const containers = edit.kind === "json-set" ? edit.path.slice(0, -1) : edit.path;
  for (let length = 1; length <= containers.length; length++) {
    const node = findNodeAtLocation(tree, containers.slice(0, length));
    const wanted = edit.kind === "json-item" && length === containers.length ? "array" : "object";
    if (node === undefined || node.type === wanted) continue;
    const { line, column } = placeAt(text, node.offset);
    const what = wanted === "array" ? "a list" : "an object";
    throw notUnderstood(name, line, column, `${containers.slice(0, length).join(".")} is not ${what}`);
  }
}

function itemsAt(tree: Node, path: readonly string[]): readonly { readonly index: number; readonly value: unknown }[] {
  const node = findNodeAtLocation(tree, [...path]);
  return node?.type === "array"
    ? (node.children ?? []).map((child, index) => ({ index, value: plainValue(child) }))
    : [];
}

function plainValue(node: Node): unknown {
  if (node.type === "array") return (node.children ?? []).map(plainValue);
  if (node.type !== "object") return node.value;
  const made: Record<string, unknown> = Object.create(null);
  for (const { children: [key, value] = [] } of node.children ?? []) {
    if (key !== undefined && value !== undefined) made[String(key.value)] = plainValue(value);
  }
  return { ...made };
}

/** Without members that hold nothing, at any depth, and with lists in one order: ours grow as they are found. */
function pruned(value: unknown): unknown {
  if (Array.isArray(value)) return value.length === 0 ? undefined : value.map(pruned).sort(byText);
  if (typeof value !== "object" || value === null) return value;
  const kept = Object.entries(value)
    .map(([key, inner]) => [key, pruned(inner)] as const)
    .filter(([, inner]) => inner !== undefined);
  return kept.length === 0 ? undefined : Object.fromEntries(kept);
}

function byText(one: unknown, other: unknown): number {
  return JSON.stringify(one) < JSON.stringify(other) ? -1 : 1;
}

function isNothing(value: unknown): boolean {
  return pruned(value) === undefined;
}

function hasComment(text: string): boolean {
  return /\/[/*]/.test(text);
}

function sentence(code: string): string {
  return code.replace(/([a-z])([A-Z])/g, "$1 $2").toLowerCase();
}
