/**
 * Objects that a repository borrows of others (`objects/info/alternates`). A project could name any directory there, so a
 * directory is shown only if it is the object store of a repository of the same owner, and if it has a commit that the
 * project's own references name: who made the project must have known what is in it.
 */
import {
  closeSync,
  type Dirent,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  realpathSync,
} from "node:fs";
import { basename, dirname, isAbsolute, join } from "node:path";
import type { Looks } from "./looks.js";

const LONGEST_LIST = 1 << 16;
const LONGEST_PACKED = 8 << 20;
const MOST_STORES = 8;
const MOST_REFERENCES = 500;
const DEEPEST = 8;
const ID = /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/;
const INDEX_MAGIC = 0xff744f63;
const FANOUT = 8;

/** Whether a repository names others at all. */
export function borrows(git: string, looks: Looks): boolean {
  return looks.stats(join(git, "objects", "info", "alternates"), "seen") !== null;
}

/** Absolute paths, each free of links. */
export function borrowedObjects(git: string): readonly string[] {
  try {
    const first = alternatesOf(join(git, "objects"));
    if (first.length === 0) return [];
    const { uid } = lstatSync(git);
    const named = tips(git);
    const found: string[] = [];
    const queue = [...first];
    while (queue.length > 0 && found.length < MOST_STORES) {
      const path = queue.shift() ?? "";
      if (found.includes(path) || !isStore(path, uid) || !named.some((id) => has(path, id))) continue;
      found.push(path);
      queue.push(...alternatesOf(path));
    }
    return found;
  } catch (error) {
    if (error instanceof Error && "code" in error) return [];
    throw error;
  }
}

function alternatesOf(objects: string): readonly string[] {
  const file = join(objects, "info", "alternates");
  const stat = lstatSync(file, { throwIfNoEntry: false });
  if (stat === undefined || !stat.isFile() || stat.size > LONGEST_LIST) return [];
  return readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => isAbsolute(line));
}

function isStore(path: string, uid: number): boolean {
  const kind = (at: string) => lstatSync(at, { throwIfNoEntry: false });
  const git = dirname(path);
  return (
    basename(path) === "objects" &&
    kind(path)?.isDirectory() === true &&
    realpathSync(path) === path &&
    kind(path)?.uid === uid &&
    kind(join(git, "HEAD"))?.isFile() === true &&
    kind(join(git, "refs"))?.isDirectory() === true
  );
}

/** What the references of a repository name. */
function tips(git: string): readonly string[] {
  const found = new Set<string>();
  const add = (text: string) => {
    const [id = ""] = text.trim().split(/\s/);
    if (ID.test(id) && found.size < MOST_REFERENCES) found.add(id);
  };
  const read = (file: string, limit: number) => {
    const stat = lstatSync(file, { throwIfNoEntry: false });
    return stat?.isFile() === true && stat.size <= limit ? readFileSync(file, "utf8") : "";
  };
  add(read(join(git, "HEAD"), 1024));
  for (const line of read(join(git, "packed-refs"), LONGEST_PACKED).split("\n")) add(line);
  const walk = (directory: string, depth: number) => {
    if (depth > DEEPEST || found.size >= MOST_REFERENCES) return;
    for (const entry of entriesOf(directory)) {
      const path = join(directory, entry.name);
      if (entry.isDirectory()) walk(path, depth + 1);
      else if (entry.isFile()) add(read(path, 1024));
    }
  };
  walk(join(git, "refs"), 0);
  return [...found];
}

function entriesOf(directory: string): readonly Dirent[] {
  const stat = lstatSync(directory, { throwIfNoEntry: false });
  return stat?.isDirectory() === true ? readdirSync(directory, { withFileTypes: true }) : [];
}

function has(objects: string, id: string): boolean {
  const loose = lstatSync(join(objects, id.slice(0, 2), id.slice(2)), { throwIfNoEntry: false });
  if (loose?.isFile() === true) return true;
  const indexes = entriesOf(join(objects, "pack")).filter((entry) => entry.isFile() && entry.name.endsWith(".idx"));
  return indexes.some(({ name }) => isIn(join(objects, "pack", name), Buffer.from(id, "hex")));
}

/** Whether an index of a pack has an id. */
function isIn(file: string, id: Buffer): boolean {
  const descriptor = openSync(file, "r");
  try {
    const head = Buffer.alloc(FANOUT + 256 * 4);
    if (readSync(descriptor, head, 0, head.length, 0) < head.length || head.readUInt32BE(0) !== INDEX_MAGIC)
      return false;
    const [first = 0] = id;
    const until = head.readUInt32BE(FANOUT + first * 4);
    const from = first === 0 ? 0 : head.readUInt32BE(FANOUT + (first - 1) * 4);
    let [low, high] = [from, until];
    const there = Buffer.alloc(id.length);
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if (readSync(descriptor, there, 0, there.length, head.length + middle * id.length) < there.length) return false;
      const order = there.compare(id);
      if (order === 0) return true;
      if (order < 0) low = middle + 1;
      else high = middle;
    }
    return false;
  } finally {
    closeSync(descriptor);
  }
}
