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

export type JsonEdit = JsonMember | JsonItem | JsonGrouped;

interface JsonMember {
  readonly kind: "json-set";
  readonly path: readonly string[];
  readonly value: unknown;
  /** Whether what is there is ours in an older or another form, and may be replaced. */
  readonly isOurs: (value: unknown) => boolean;
  /** Whether what is there does as well, whatever the user has added to it. */
  readonly suffices: (value: unknown) => boolean;
  /** What is wrong with it even so; null: nothing. */
  readonly objection?: (value: unknown) => string | null;
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

/** An item of a list that is a member of an item of a list: groups may also hold items of others, which stay. */
interface JsonGrouped {
  readonly kind: "json-grouped";
  /** Of the list of groups. */
  readonly path: readonly string[];
  /** The list's name in a group. */
  readonly member: string;
  readonly value: unknown;
  /** What the rest of a group has to be for the item to be in the right one. */
  readonly group: Readonly<Record<string, unknown>>;
  readonly isOurs: (item: unknown) => boolean;
}

export function ensureJson(text: string | null, edit: JsonEdit, name: string): string {
  const before = text === null || text.trim() === "" ? "{}\n" : text;
  const tree = rootOf(before, name);
  checkContainers(before, tree, edit, name);
  if (edit.kind === "json-grouped") return ensureGrouped(text ?? before, before, tree, edit, name);
  if (edit.kind === "json-set") {
    const there = findNodeAtLocation(tree, [...edit.path]);
    if (there !== undefined) {
      const value = plainValue(there);
      const objection = edit.objection?.(value) ?? null;
      if (objection === null && edit.suffices(value)) return text ?? before;
      if (objection !== null || !edit.isOurs(value)) {
        const { line } = placeAt(before, there.offset);
        const why = objection ?? "is not ours";
        throw taken(`${name}:${line}`, `${edit.path.join(".")} is there already, and ${why}`, "rename or remove it");
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
  } else if (edit.kind === "json-grouped") {
    result = withoutGrouped(text, edit, name);
    if (result === text) return text;
  } else {
    const own = itemsAt(tree, edit.path).findLast(({ value }) => edit.isOurs(value));
    if (own === undefined) return text;
    result = put(text, [...edit.path, own.index], undefined);
  }
  return isNothing(plainValue(rootOf(result, name))) && !hasComment(result) ? null : result;
}

function ensureGrouped(same: string, before: string, tree: Node, edit: JsonGrouped, name: string): string {
  const [own, ...more] = groupedAt(tree, edit);
  if (own?.isRightGroup === true && more.length === 0) {
    if (isDeepStrictEqual(own.value, edit.value)) return same;
    return put(before, own.path, edit.value);
  }
  const rest = withoutGrouped(before, edit, name);
  const groups = itemsAt(rootOf(rest, name), edit.path);
  return put(rest, [...edit.path, groups.length], { ...edit.group, [edit.member]: [edit.value] }, true);
}

/** A group that held nothing else goes too. */
function withoutGrouped(text: string, edit: JsonGrouped, name: string): string {
  const own = groupedAt(rootOf(text, name), edit).at(-1);
  if (own === undefined) return text;
  return withoutGrouped(put(text, own.isAlone ? own.path.slice(0, -2) : own.path, undefined), edit, name);
}

interface Grouped {
  readonly path: JSONPath;
  readonly value: unknown;
  readonly isAlone: boolean;
  readonly isRightGroup: boolean;
}

function groupedAt(tree: Node, { path, member, group, isOurs }: JsonGrouped): readonly Grouped[] {
  return itemsAt(tree, path).flatMap(({ index, value }) => {
    const { [member]: items, ...others } = { ...(value as Readonly<Record<string, unknown>> | null) };
    const list: readonly unknown[] = Array.isArray(items) ? items : [];
    const isRightGroup = isDeepStrictEqual(others, { ...group });
    return list.flatMap((item, at) =>
      isOurs(item)
        ? [{ path: [...path, index, member, at], value: item, isAlone: list.length === 1, isRightGroup }]
        : [],
    );
  });
}

export function sameJson(one: string | null, other: string | null, name: string): boolean {
  const meaning = (text: string | null): unknown =>
    text === null || text.trim() === "" ? undefined : pruned(plainValue(rootOf(text, name)));
  return isDeepStrictEqual(meaning(one), meaning(other));
}

function put(text: string, path: JSONPath, value: unknown, isArrayInsertion = false): string {
  if (value === undefined) {
    const cut = withoutLastItem(text, path);
    if (cut !== null) return cut;
  }
  return applyEdits(text, modify(text, path, value, { formattingOptions: layoutOf(text), isArrayInsertion }));
}

/** The library counts on a line end behind the last item of a list. Null: it is another one, or the only one. */
function withoutLastItem(text: string, path: JSONPath): string | null {
  const tree = parseTree(text, [], { allowTrailingComma: true });
  const items = (tree && findNodeAtLocation(tree, path.slice(0, -1))?.children) ?? [];
  const index = path.at(-1);
  const [kept, gone] = items.slice(-2);
  if (index !== items.length - 1 || kept === undefined || gone === undefined) return null;
  return text.slice(0, kept.offset + kept.length) + text.slice(gone.offset + gone.length);
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
    const wanted = edit.kind !== "json-set" && length === containers.length ? "array" : "object";
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
