/** Files inside the sandbox. Paths are resolved by the guest, inside, with the guest's rights; never on the host. */
import { Buffer } from "node:buffer";
import { deferred } from "../core/deferred.js";
import { AgentKernelError } from "../core/errors.js";
import type { Channel, ChannelHandler, ChannelShape } from "./channel.js";
import { ChunkSource } from "./chunk-source.js";
import { DirListing } from "./dir-listing.js";
import type { OpenChannel } from "./exec.js";
import { FrameType } from "./frame.js";
import { flagMember, type JsonObject } from "./json.js";
import { type DirEntry, type FileInfo, type FileStat, readCloseRefusal, readFileInfo, readStat } from "./messages.js";
import { fileRefused } from "./refusal.js";
import { readGuestTree, type TreeReport, type TreeTarget, writeGuestTree } from "./tree.js";
import { type WriteOptions, writeGuestFile } from "./write-file.js";

const READ_SHAPE: ChannelShape = { inbound: [1], outbound: false, terminal: FrameType.close };
const OP_SHAPE: ChannelShape = { inbound: [], outbound: false, terminal: FrameType.close };

interface ReadRange {
  readonly offsetBytes?: number;
  readonly limitBytes?: number;
}

interface GuestFileReader {
  readonly info: FileInfo;
  /** To be iterated once; leaving the loop early abandons the rest. */
  readonly chunks: AsyncIterable<Buffer>;
}

interface DirList {
  readonly entries: readonly DirEntry[];
  /** There are more than the guest lists. */
  readonly truncated: boolean;
}

interface FileOp extends WriteOptions {
  readonly op: "stat" | "mkdir" | "remove" | "rename";
  readonly path: string;
  readonly recursive?: boolean;
  readonly to?: string;
}

export class GuestFiles {
  readonly #open: OpenChannel;

  constructor(open: OpenChannel) {
    this.#open = open;
  }

  /** A regular file, as it streams in. */
  async openFile(path: string, range: ReadRange = {}): Promise<GuestFileReader> {
    const opened = deferred<FileInfo>();
    const source = new ChunkSource();
    const fail = (error: AgentKernelError) => {
      opened.reject(error);
      source.fail(error);
    };
    const body = { kind: "file-read", path, offset: range.offsetBytes, limit: range.limitBytes };
    const channel = this.#open(READ_SHAPE, body, {
      opened: (info) => opened.resolve(readFileInfo(info)),
      failed: (refusal) => fail(fileRefused(refusal, path)),
      closed: (end) => {
        const refusal = readCloseRefusal(end);
        if (refusal) fail(fileRefused(refusal, path));
      },
      lost: fail,
    });
    channel.inbound(1).attach(source);
    return { info: await opened.promise, chunks: untilLeft(channel, source) };
  }

  /** A whole file in memory; `maxBytes` is what the caller is ready to hold, whatever size the guest claims. */
  async readFile(path: string, maxBytes: number, range: ReadRange = {}): Promise<Buffer> {
    const { chunks } = await this.openFile(path, range);
    const parts: Buffer[] = [];
    let total = 0;
    for await (const chunk of chunks) {
      total += chunk.length;
      if (total > maxBytes) {
        throw new AgentKernelError("file_error", `The file is larger than ${maxBytes} bytes.`, {
          details: { code: "too_large", path },
        });
      }
      parts.push(chunk);
    }
    return Buffer.concat(parts, total);
  }

  /** Replaces the file as a whole or not at all. */
  async writeFile(
    path: string,
    content: Buffer | AsyncIterable<Buffer>,
    options: WriteOptions = {},
  ): Promise<{ readonly sizeBytes: number }> {
    return writeGuestFile(this.#open, path, content, options);
  }

  /** A file or folder as a tree stream; to be iterated once. */
  async readTree(path: string): Promise<AsyncIterable<Buffer>> {
    return readGuestTree(this.#open, path);
  }

  /** Makes files and folders of a tree stream. */
  async writeTree(target: TreeTarget, content: AsyncIterable<Buffer>): Promise<TreeReport> {
    return writeGuestTree(this.#open, target, content);
  }

  /** Does not follow a final link. */
  async stat(path: string): Promise<FileStat> {
    return this.#op({ op: "stat", path }, readStat);
  }

  async list(path: string): Promise<DirList> {
    const result = deferred<DirList>();
    const listing = new DirListing();
    const channel = this.#open(
      READ_SHAPE,
      { kind: "file-op", op: "list", path },
      answering(path, result.reject, (end) => {
        listing.finish();
        result.resolve({ entries: listing.entries, truncated: flagMember(end, "truncated") });
      }),
    );
    channel.inbound(1).attach({
      write: (chunk, done) => {
        listing.push(chunk);
        done();
      },
      end: () => {},
    });
    return result.promise;
  }

  async mkdir(path: string, options: WriteOptions = {}): Promise<void> {
    await this.#op({ op: "mkdir", path, ...options }, () => null);
  }

  async remove(path: string, options: { readonly recursive?: boolean } = {}): Promise<void> {
    await this.#op({ op: "remove", path, ...options }, () => null);
  }

  async rename(path: string, to: string): Promise<void> {
    await this.#op({ op: "rename", path, to }, () => null);
  }

  #op<T>(body: FileOp, read: (body: JsonObject) => T): Promise<T> {
    const result = deferred<T>();
    let answer: { readonly value: T } | null = null;
    this.#open(
      OP_SHAPE,
      { kind: "file-op", ...body },
      {
        ...answering(body.path, result.reject, () => {
          if (answer) result.resolve(answer.value);
        }),
        opened: (opened) => {
          answer = { value: read(opened) };
        },
      },
    );
    return result.promise;
  }
}

/** A handler that rejects on any failure, and calls `complete` for a CLOSE that reports none. */
function answering(
  path: string,
  reject: (error: unknown) => void,
  complete: (end: JsonObject) => void,
): ChannelHandler {
  return {
    opened: () => {},
    failed: (refusal) => reject(fileRefused(refusal, path)),
    closed: (end) => {
      const refusal = readCloseRefusal(end);
      if (refusal) reject(fileRefused(refusal, path));
      else complete(end);
    },
    lost: reject,
  };
}

async function* untilLeft(channel: Channel, source: ChunkSource): AsyncGenerator<Buffer, void, void> {
  try {
    yield* source.chunks();
  } finally {
    channel.close();
    source.discard();
  }
}
