/** One file into the sandbox: streamed, and only acknowledged when the guest has put it in place. */
import { Buffer } from "node:buffer";
import { deferred } from "../core/deferred.js";
import type { AgentKernelError } from "../core/errors.js";
import type { ChannelShape } from "./channel.js";
import type { OpenChannel } from "./exec.js";
import { FrameType } from "./frame.js";
import { badMember } from "./json.js";
import { readCloseRefusal, readSize } from "./messages.js";
import type { OutboundStream } from "./outbound-stream.js";
import { fileRefused } from "./refusal.js";

export interface WriteOptions {
  /** Permission bits; default 0o644. */
  readonly mode?: number;
  readonly parents?: boolean;
}

const WRITE_SHAPE: ChannelShape = { inbound: [], outbound: true, terminal: FrameType.close };
const DEFAULT_MODE = 0o644;

export async function writeGuestFile(
  open: OpenChannel,
  path: string,
  content: Buffer | AsyncIterable<Buffer>,
  options: WriteOptions,
): Promise<{ readonly sizeBytes: number }> {
  const result = deferred<{ readonly sizeBytes: number }>();
  const fail = (error: AgentKernelError) => result.reject(error);
  let abandoned = false;
  const body = { kind: "file-write", path, mode: options.mode ?? DEFAULT_MODE, parents: options.parents ?? false };
  const channel = open(WRITE_SHAPE, body, {
    opened: () => {},
    failed: (refusal) => fail(fileRefused(refusal, path)),
    closed: (end) => {
      if (abandoned) return;
      const refusal = readCloseRefusal(end);
      if (refusal) return fail(fileRefused(refusal, path));
      const sizeBytes = readSize(end);
      // A guest that acknowledges something else than what it was given is lying about the file.
      if (!stream.eofSent || sizeBytes !== stream.sentBytes) throw badMember("size");
      result.resolve({ sizeBytes });
    },
    lost: fail,
  });
  const stream = channel.requireOutbound();
  try {
    for await (const chunk of Buffer.isBuffer(content) ? [content] : content) {
      if (channel.ended) break;
      if (!stream.write(chunk)) await drain(stream);
    }
    stream.end();
  } catch (error) {
    abandoned = true;
    channel.close();
    throw error;
  }
  return result.promise;
}

function drain(stream: OutboundStream): Promise<void> {
  return new Promise((resolve) => stream.onceDrained(resolve));
}
