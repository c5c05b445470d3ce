/** Entries of a tar archive, read as it streams in; the content of one is read before the next is asked for. */
import { Buffer } from "node:buffer";
import { AgentKernelError, isAgentKernelError } from "../../core/errors.js";
import { BLOCK_BYTES, paddingAfter, parseTarHeader, type TarHeader } from "../../images/archive/tar-header.js";

interface TarEntry {
  readonly name: string;
  readonly type: "file" | "dir" | "other";
  readonly mode: number;
  /** To be read once; what is left of it is passed over. */
  readonly content: AsyncIterable<Buffer>;
}

/** Words about the next entry: a long name, an extended header. */
const MAX_WORDS_BYTES = 65_536;

export async function* tarEntries(archive: AsyncIterable<Buffer>): AsyncGenerator<TarEntry> {
  const source = new ByteSource(archive);
  let words: Words = {};
  for (;;) {
    const block = await source.take(BLOCK_BYTES);
    const header = block === null ? null : readHeader(block);
    if (block === null || header === null) return;
    if (header.type === "x" || header.type === "L" || header.type === "g" || header.type === "K") {
      words = { ...words, ...(await readWords(source, header)) };
      continue;
    }
    const sizeBytes = words.size ?? header.sizeBytes;
    const content = source.stretch(header.type === "0" || header.type === "7" ? sizeBytes : header.sizeBytes);
    const name = words.path ?? header.name;
    words = {};
    yield { name, type: typeOf(header, name), mode: modeOf(block), content };
    for await (const _ of content) {
      // What nobody read.
    }
    await source.skip(paddingAfter(sizeBytes));
  }
}

interface Words {
  readonly path?: string;
  readonly size?: number;
}

function typeOf({ type }: TarHeader, name: string): TarEntry["type"] {
  if (type === "5" || (type === "0" && name.endsWith("/"))) return "dir";
  return type === "0" || type === "7" ? "file" : "other";
}

function modeOf(block: Buffer): number {
  const text = block
    .toString("latin1", 100, 107)
    .replace(/[\0 ]+$/, "")
    .trim();
  return /^[0-7]+$/.test(text) ? Number.parseInt(text, 8) & 0o7777 : 0o644;
}

function readHeader(block: Buffer): TarHeader | null {
  try {
    return parseTarHeader(block);
  } catch (error) {
    if (!isAgentKernelError(error)) throw error;
    throw malformed(error.message);
  }
}

async function readWords(source: ByteSource, { type, sizeBytes }: TarHeader): Promise<Words> {
  if (sizeBytes > MAX_WORDS_BYTES) throw malformed("a header about the next entry is too long");
  const bytes = await source.take(sizeBytes);
  await source.skip(paddingAfter(sizeBytes));
  if (bytes === null) throw malformed("it ends within a header");
  if (type === "L") return { path: bytes.toString("utf8").replace(/\0.*$/s, "") };
  // A global header speaks of all entries, and nothing that it says matters here.
  return type === "x" ? paxWords(bytes) : {};
}

function paxWords(bytes: Buffer): Words {
  let path: string | undefined;
  let size: number | undefined;
  for (let at = 0; at < bytes.length; ) {
    const blank = bytes.indexOf(32, at);
    const length = Number(bytes.toString("latin1", at, blank));
    if (blank < 0 || !Number.isInteger(length) || length <= blank - at + 1 || at + length > bytes.length) {
      throw malformed("an extended header makes no sense");
    }
    const record = bytes.toString("utf8", blank + 1, at + length - 1);
    const equals = record.indexOf("=");
    const [key, value] = [record.slice(0, equals), record.slice(equals + 1)];
    if (key === "path") path = value;
    if (key === "size" && /^\d{1,15}$/.test(value)) size = Number(value);
    at += length;
  }
  return { ...(path === undefined ? {} : { path }), ...(size === undefined ? {} : { size }) };
}

class ByteSource {
  readonly #chunks: AsyncIterator<Buffer>;
  #held: Buffer = Buffer.alloc(0);

  constructor(archive: AsyncIterable<Buffer>) {
    this.#chunks = archive[Symbol.asyncIterator]();
  }

  /** Null at the end of the archive; within what was asked for there must be no end. */
  async take(bytes: number): Promise<Buffer | null> {
    const parts: Buffer[] = [];
    let missing = bytes;
    while (missing > 0) {
      const part = await this.#next(missing);
      if (part === null) {
        if (parts.length === 0) return null;
        throw malformed("it ends too early");
      }
      parts.push(part);
      missing -= part.length;
    }
    return Buffer.concat(parts);
  }

  async skip(bytes: number): Promise<void> {
    for (let left = bytes; left > 0; ) {
      const part = await this.#next(left);
      if (part === null) return;
      left -= part.length;
    }
  }

  stretch(bytes: number): AsyncIterable<Buffer> {
    let left = bytes;
    const next = (most: number) => this.#next(most);
    return {
      async *[Symbol.asyncIterator]() {
        while (left > 0) {
          const part = await next(left);
          if (part === null) throw malformed("it ends within a file");
          left -= part.length;
          yield part;
        }
      },
    };
  }

  async #next(most: number): Promise<Buffer | null> {
    while (this.#held.length === 0) {
      const { value, done } = await this.#chunks.next();
      if (done === true) return null;
      this.#held = value;
    }
    const part = this.#held.subarray(0, most);
    this.#held = this.#held.subarray(part.length);
    return part;
  }
}

function malformed(why: string): AgentKernelError {
  return new AgentKernelError(
    "invalid_argument",
    `body is no tar archive: ${why.replace(/^the archive is malformed: /, "")}`,
    {
      hint: "send it uncompressed",
      details: { field: "body" },
    },
  );
}
