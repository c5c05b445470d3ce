/**
 * The Connect protocol, as far as clients of E2B speak it: JSON, without compression. A single request and answer are
 * plain HTTP. Streams are envelopes: a byte of flags, four of length, and a message; the last one says how it ended.
 */
import { Buffer } from "node:buffer";
import type { ServerResponse } from "node:http";
import { type BodySource, bodyChunks, mediaType, readBody } from "../../api/http/body.js";
import { type Json, parseJson } from "../../api/schema/json-text.js";
import { AgentKernelError } from "../../core/errors.js";
import { type ConnectCode, invalid } from "../errors.js";

const UNARY = "application/json";
const STREAM = "application/connect+json";
const HEAD_BYTES = 5;
const END_FLAG = 0x02;
/** A reader that takes nothing for so long has gone. */
const STALL_MS = 60_000;

export function isStreamRequest({ request }: BodySource): boolean {
  return mediaType(request) === STREAM;
}

/** The one message of a request. */
export async function readMessage(source: BodySource, maxBytes: number): Promise<Json> {
  const type = mediaType(source.request);
  if (type === UNARY) {
    const body = await readBody(source, maxBytes);
    return body.length === 0 ? new Map() : parseJson(body);
  }
  if (type !== STREAM) {
    throw new AgentKernelError("unsupported_media_type", `the request is ${type ?? "of no stated kind"}`, {
      hint: `send ${UNARY} or ${STREAM}`,
      details: { field: "Content-Type" },
    });
  }
  for await (const message of readMessages(source, maxBytes)) return message;
  throw invalid("body", "has no message");
}

/** Each message as it comes. `maxBytes`: of one message. Their sum has no bound, since nothing of them is kept. */
export async function* readMessages(source: BodySource, maxBytes: number): AsyncGenerator<Json> {
  if ((source.request.headers["connect-content-encoding"] ?? "identity") !== "identity") {
    throw new AgentKernelError("unsupported", "compressed messages are not taken", {
      details: { field: "Connect-Content-Encoding" },
    });
  }
  let held: Buffer = Buffer.alloc(0);
  for await (const chunk of bodyChunks(source, Number.MAX_SAFE_INTEGER)) {
    held = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
    for (let size = sizeOf(held, maxBytes); size !== null && held.length >= size; size = sizeOf(held, maxBytes)) {
      const message = parseJson(held.subarray(HEAD_BYTES, size));
      held = held.subarray(size);
      yield message;
    }
  }
  if (held.length > 0) throw invalid("body", "ends within a message");
}

/** With its head; null while that has not come whole. */
function sizeOf(held: Buffer, maxBytes: number): number | null {
  if (held.length < HEAD_BYTES) return null;
  if (held[0] !== 0) throw invalid("body", "has a message with flags, which are for answers alone");
  const bytes = held.readUInt32BE(1);
  if (bytes <= maxBytes) return HEAD_BYTES + bytes;
  throw new AgentKernelError("payload_too_large", `a message is larger than ${maxBytes} bytes`, {
    details: { field: "body", max_bytes: maxBytes },
  });
}

export function envelope(message: object, flags = 0): Buffer {
  const body = Buffer.from(JSON.stringify(message));
  const head = Buffer.alloc(HEAD_BYTES);
  head[0] = flags;
  head.writeUInt32BE(body.length, 1);
  return Buffer.concat([head, body]);
}

/** An answer of many messages. One that was sent has left this process when its callback is called, or never will. */
export class MessageStream {
  readonly #response: ServerResponse;
  #stall: NodeJS.Timeout | undefined;
  readonly #unwritten = new Set<() => void>();
  #isOver = false;

  constructor(response: ServerResponse) {
    this.#response = response;
    response.writeHead(200, { "content-type": STREAM, "cache-control": "no-store" });
    response.once("close", () => {
      clearTimeout(this.#stall);
      // What waited in a connection that is gone is never reported as written, and whoever lent it waits.
      for (const settle of [...this.#unwritten]) settle();
    });
  }

  send(message: object, written: () => void = () => {}): void {
    if (this.#response.destroyed || this.#isOver) {
      written();
      return;
    }
    const settle = () => {
      if (!this.#unwritten.delete(settle)) return;
      if (this.#unwritten.size === 0) {
        clearTimeout(this.#stall);
        this.#stall = undefined;
      } else {
        this.#stall?.refresh();
      }
      written();
    };
    this.#unwritten.add(settle);
    this.#stall ??= setTimeout(() => this.#response.destroy(), STALL_MS).unref();
    this.#response.write(envelope(message), settle);
  }

  /** Only the first end counts. */
  end(error?: { readonly code: ConnectCode; readonly message: string }): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#response.end(envelope(error === undefined ? {} : { error }, END_FLAG));
  }
}
