/**
 * Where in a tar archive the files of an image lie. Reads headers only. Names are keys to look up and nothing else, so
 * what they say (`../`, absolute, links to anywhere) can lead to no file of the host.
 */
import type { FileHandle } from "node:fs/promises";
import { posix } from "node:path";
import { type Content, type ImageFiles, stretchOf } from "./content.js";
import { BLOCK_BYTES, malformedArchive, paddingAfter, parseTarHeader, type TarHeader } from "./tar-header.js";

/** Archives of images have hundreds; a root filesystem has many, and no sane one as many as this. */
export const MAX_ENTRIES = 500_000;
/** An image's own files lie at most so deep: `blobs/sha256/…`. Others are counted and not kept. */
const MAX_DEPTH = 3;
const MAX_NAME_CHARS = 256;
const MAX_KEPT = 20_000;
const MAX_EXTENSION_BYTES = 1024 * 1024;
const MAX_LINKS = 8;
const WINDOW_BYTES = 256 * 1024;

interface Entry {
  readonly start: number;
  readonly sizeBytes: number;
  /** A name in the archive that this one stands for. */
  readonly link: string | null;
}

export class TarIndex implements ImageFiles {
  readonly #file: FileHandle;
  readonly #entries: ReadonlyMap<string, Entry>;

  private constructor(file: FileHandle, entries: ReadonlyMap<string, Entry>) {
    this.#file = file;
    this.#entries = entries;
  }

  /** The file stays the caller's to close, after the last use of what is found here. */
  static async read(file: FileHandle, sizeBytes: number): Promise<TarIndex> {
    const entries = new Map<string, Entry>();
    for await (const { name, type, sizeBytes: size, linkName, start } of headers(file, sizeBytes)) {
      const key = keyOf(name);
      if (key === null || entries.size >= MAX_KEPT) continue;
      if (type === "0" || type === "7") entries.set(key, { start, sizeBytes: size, link: null });
      else if (type === "1" || type === "2") {
        const target = keyOf(type === "1" ? linkName : posix.join(posix.dirname(key), linkName));
        if (target !== null) entries.set(key, { start, sizeBytes: 0, link: target });
      }
    }
    return new TarIndex(file, entries);
  }

  async find(name: string): Promise<Content | null> {
    let key = keyOf(name);
    for (let links = 0; key !== null && links <= MAX_LINKS; links += 1) {
      const entry = this.#entries.get(key);
      if (entry === undefined) return null;
      if (entry.link === null) return stretchOf(this.#file, entry.start, entry.sizeBytes);
      key = entry.link;
    }
    return null;
  }
}

/** One form for each name; null for one that leads out of the archive or can be no file of an image. */
function keyOf(name: string): string | null {
  if (name.length > MAX_NAME_CHARS || name.startsWith("/")) return null;
  const path = posix.normalize(name);
  if (path === "." || path === ".." || path.startsWith("../")) return null;
  return path.split("/").length > MAX_DEPTH ? null : path;
}

type Placed = TarHeader & { readonly start: number };

/** Every entry, with the longer names and sizes that pax and GNU extensions give it. */
async function* headers(file: FileHandle, sizeBytes: number): AsyncGenerator<Placed, void, void> {
  const window = new Window(file, sizeBytes);
  let changes: Partial<TarHeader> = {};
  let count = 0;
  for (let at = 0; ; ) {
    const block = await window.read(at, BLOCK_BYTES);
    // Some writers leave out the blocks of zeros at the end.
    if (block.length === 0 && at > 0) return;
    if (block.length < BLOCK_BYTES) throw malformedArchive("it ends in the middle of a header");
    const header = parseTarHeader(block);
    if (header === null) return;
    count += 1;
    if (count > MAX_ENTRIES) throw malformedArchive(`it has more than ${MAX_ENTRIES} entries`);
    const start = at + BLOCK_BYTES;
    const extension = "xgLK".includes(header.type);
    const entry: TarHeader = extension ? header : { ...header, ...changes };
    // A link has no bytes of its own, whatever size it states.
    const bodyBytes = "12".includes(entry.type) ? 0 : entry.sizeBytes;
    if (start + bodyBytes > sizeBytes) throw malformedArchive("it ends in the middle of an entry");
    if (extension) {
      if (bodyBytes > MAX_EXTENSION_BYTES) throw malformedArchive("an entry's extension is too long");
      changes = { ...changes, ...changesOf(header.type, await window.read(start, bodyBytes)) };
    } else {
      changes = {};
      yield { ...entry, start };
    }
    at = start + bodyBytes + paddingAfter(bodyBytes);
  }
}

function changesOf(type: string, body: Buffer): Partial<TarHeader> {
  const text = body.toString("utf8").replace(/\0+$/, "");
  if (type === "L") return { name: text };
  if (type === "K") return { linkName: text };
  return type === "x" ? paxChanges(body) : {};
}

/** Records of the form `length key=value\n`, where the length counts all of it. */
function paxChanges(body: Buffer): Partial<TarHeader> {
  const changes: { name?: string; linkName?: string; sizeBytes?: number } = {};
  for (let at = 0; at < body.length; ) {
    const blank = body.indexOf(" ", at);
    const length = Number(body.toString("latin1", at, Math.max(blank, at)));
    if (blank < 0 || !Number.isSafeInteger(length) || length <= blank - at + 1 || at + length > body.length) {
      throw malformedArchive("an entry's extension cannot be read");
    }
    const record = body.toString("utf8", blank + 1, at + length - 1);
    const equals = record.indexOf("=");
    const value = record.slice(equals + 1);
    const key = record.slice(0, Math.max(equals, 0));
    if (key === "path") changes.name = value;
    else if (key === "linkpath") changes.linkName = value;
    else if (key === "size") changes.sizeBytes = paxSize(value);
    at += length;
  }
  return changes;
}

function paxSize(value: string): number {
  const size = /^\d{1,16}$/.test(value) ? Number(value) : Number.NaN;
  if (!Number.isSafeInteger(size)) throw malformedArchive("an entry's size is no number");
  return size;
}

/** Reads ahead a little: small files lie close together. */
class Window {
  readonly #file: FileHandle;
  readonly #sizeBytes: number;
  #start = 0;
  #bytes = Buffer.alloc(0);

  constructor(file: FileHandle, sizeBytes: number) {
    this.#file = file;
    this.#sizeBytes = sizeBytes;
  }

  async read(position: number, length: number): Promise<Buffer> {
    const end = Math.min(position + length, this.#sizeBytes);
    if (position >= end) return Buffer.alloc(0);
    if (position < this.#start || end > this.#start + this.#bytes.length) {
      const buffer = Buffer.allocUnsafe(Math.max(length, WINDOW_BYTES));
      let filled = 0;
      while (filled < end - position) {
        const { bytesRead } = await this.#file.read(buffer, filled, buffer.length - filled, position + filled);
        if (bytesRead === 0) throw malformedArchive("it changed while it was read");
        filled += bytesRead;
      }
      this.#start = position;
      this.#bytes = buffer.subarray(0, filled);
    }
    return this.#bytes.subarray(position - this.#start, end - this.#start);
  }
}
