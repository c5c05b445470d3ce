/** Sandboxes by page, as their clients filter and sort them. */
import { maySee } from "../../api/auth/caller.js";
import { type Found, findSandbox } from "../context.js";
import { invalid } from "../errors.js";
import type { ControlHandler } from "./call.js";
import { listed, stateOf } from "./shown.js";

const MOST = 100;

export const list: ControlHandler = async (call) => {
  const { query, caller } = call;
  const all = call.host.backing.sandboxes
    .list()
    .filter((sandbox) => maySee(caller, sandbox))
    .flatMap(({ name }) => findSandbox(call, name) ?? []);
  const filters = [byState(query), byMetadata(query.get("metadata")), byStart(query), byTemplate(query)];
  const wanted = all.filter((found) => filters.every((isWanted) => isWanted(found)));
  const isAscending = query.get("order") === "asc";
  const sorted = wanted.sort((one, other) => compare(keyOf(one), keyOf(other)) * (isAscending ? 1 : -1));
  const { items, next } = pageOf(sorted, query, keyOf, isAscending);
  return { status: 200, body: items.map(listed), headers: next === null ? {} : { "x-next-token": next } };
};

/** Places in the order do not move when sandboxes come and go. */
function keyOf({ sandbox }: Found): string {
  return `${String(sandbox.summary().createdAtMs).padStart(16, "0")} ${sandbox.name}`;
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

interface Page<T> {
  readonly items: readonly T[];
  readonly next: string | null;
}

/** `sorted` is in the order of the keys, or in the reverse of it. */
export function pageOf<T>(
  sorted: readonly T[],
  query: URLSearchParams,
  key: (item: T) => string,
  isAscending: boolean,
): Page<T> {
  const limit = limitOf(query.get("limit"));
  const token = query.get("nextToken");
  const after = token === null || token === "" ? null : Buffer.from(token, "base64url").toString("utf8");
  const rest = sorted.filter((item) => after === null || (isAscending ? key(item) > after : key(item) < after));
  const items = rest.slice(0, limit);
  const last = items.at(-1);
  const next = rest.length > limit && last !== undefined ? Buffer.from(key(last)).toString("base64url") : null;
  return { items, next };
}

function limitOf(text: string | null): number {
  if (text === null) return MOST;
  const limit = Number(text);
  if (Number.isInteger(limit) && limit >= 1 && limit <= MOST) return limit;
  throw invalid("limit", `is not a number from 1 to ${MOST}`);
}

type Filter = (found: Found) => boolean;

function byState(query: URLSearchParams): Filter {
  const wanted = query.getAll("state").flatMap((text) => text.split(","));
  return ({ sandbox }) => wanted.length === 0 || wanted.includes(stateOf(sandbox));
}

/** `a=1&b=2`, each name and value encoded once more. */
function byMetadata(text: string | null): Filter {
  const wanted = [...new URLSearchParams(text ?? "")].map(([name, value]) => [decoded(name), decoded(value)] as const);
  return ({ record }) => wanted.every(([name, value]) => record.metadata[name] === value);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function byStart(query: URLSearchParams): Filter {
  const text = query.get("startedAfter");
  if (text === null) return () => true;
  const fromMs = Date.parse(text);
  if (Number.isNaN(fromMs)) throw invalid("startedAfter", "is not a time");
  return ({ sandbox }) => sandbox.summary().createdAtMs > fromMs;
}

function byTemplate(query: URLSearchParams): Filter {
  const wanted = query.get("template");
  return ({ record }) => wanted === null || record.template === wanted;
}
