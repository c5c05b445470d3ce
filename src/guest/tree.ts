/** Whole folders into and out of the sandbox, each as one stream (spec/guest-protocol.md, tree streams). */
import type { Buffer } from "node:buffer";
import { deferred } from "../core/deferred.js";
import type { AgentKernelError } from "../core/errors.js";
import type { Channel, ChannelShape } from "./channel.js";
import { ChunkSource } from "./chunk-source.js";
import type { OpenChannel } from "./exec.js";
import { FrameType } from "./frame.js";
import { integerMember, type JsonObject, objectListMember, stringMember } from "./json.js";
import { plainText, readCloseRefusal } from "./messages.js";
import type { OutboundStream } from "./outbound-stream.js";
import { fileRefused } from "./refusal.js";

const READ_SHAPE: ChannelShape = { inbound: [1], outbound: false, terminal: FrameType.close };
const WRITE_SHAPE: ChannelShape = { inbound: [], outbound: true, terminal: FrameType.close };
const MAX_NOTES = 50;
const MAX_TEXT = 1000;

/** The result of a copy. Texts are escaped for a terminal. */
export interface TreeReport {
  readonly files: number;
  readonly folders: number;
  readonly links: number;
  readonly bytes: number;
  /** Entries that were not copied, and why. */
  readonly notes: readonly { readonly path: string; readonly reason: string }[];
  /** Notes beyond these. */
  readonly omitted: number;
}

export interface TreeTarget {
  readonly path: string;
  /** Its name in a folder that exists. */
  readonly name: string;
  /** Copies the folder's content, not the folder. */
  readonly contents: boolean;
}

/** A file or folder as a tree stream; to be iterated once, and leaving the loop early abandons the rest. */
export async function readGuestTree(open: OpenChannel, path: string): Promise<AsyncIterable<Buffer>> {
  const opened = deferred<void>();
  const source = new ChunkSource();
  const fail = (error: AgentKernelError) => {
    opened.reject(error);
    source.fail(error);
  };
  const channel = open(
    READ_SHAPE,
    { kind: "tree-read", path },
    {
      opened: () => opened.resolve(),
      failed: (refusal) => fail(fileRefused(refusal, path)),
      closed: (end) => {
        const refusal = readCloseRefusal(end);
        if (refusal) fail(fileRefused(refusal, path));
      },
      lost: fail,
    },
  );
  channel.inbound(1).attach(source);
  await opened.promise;
  return untilLeft(channel, source);
}

export async function writeGuestTree(
  open: OpenChannel,
  target: TreeTarget,
  content: AsyncIterable<Buffer>,
): Promise<TreeReport> {
  const result = deferred<TreeReport>();
  // Whoever sends may fail first.
  result.promise.catch(() => {});
  const fail = (error: AgentKernelError) => result.reject(error);
  const channel = open(
    WRITE_SHAPE,
    { kind: "tree-write", ...target },
    {
      opened: () => {},
      failed: (refusal) => fail(fileRefused(refusal, target.path)),
      closed: (end) => {
        const refusal = readCloseRefusal(end);
        if (refusal) fail(fileRefused(refusal, target.path));
        else result.resolve(readTreeReport(end));
      },
      lost: fail,
    },
  );
  const stream = channel.requireOutbound();
  try {
    for await (const chunk of content) {
      if (channel.ended) break;
      if (!stream.write(chunk)) await drained(stream);
    }
  } catch (error) {
    channel.close();
    throw error;
  }
  stream.end();
  return await result.promise;
}

export function readTreeReport(body: JsonObject): TreeReport {
  const count = (name: string) => integerMember(body, name, 0, Number.MAX_SAFE_INTEGER);
  const text = (note: JsonObject, name: string) => plainText(stringMember(note, name, MAX_TEXT));
  return {
    files: count("files"),
    folders: count("folders"),
    links: count("links"),
    bytes: count("bytes"),
    notes: objectListMember(body, "notes", MAX_NOTES).map((note) => ({
      path: text(note, "path"),
      reason: text(note, "reason"),
    })),
    omitted: count("omitted"),
  };
}

function drained(stream: OutboundStream): Promise<void> {
  return new Promise((resolve) => stream.onceDrained(resolve));
}

async function* untilLeft(channel: Channel, source: ChunkSource): AsyncGenerator<Buffer, void, void> {
  try {
    yield* source.chunks();
  } finally {
    channel.close();
    source.discard();
  }
}
