/** A WebSocket over a connection of Node's, by RFC 6455: this side masks what it sends, and takes messages in parts. */
import { createHash, randomBytes } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { TransportError } from "../errors.js";
import type { MessageSocket } from "../transport.js";
import { type Frame, FrameReader } from "./web-socket-frames.js";

const GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const CONTINUED = 0;
const TEXT = 1;
const BINARY = 2;
const CLOSE = 8;
const PING = 9;
const PONG = 10;

/** What is asked for, and how it is known that whoever answers has understood. */
export function agreement(): {
  readonly asked: Readonly<Record<string, string>>;
  isAccepted(response: IncomingMessage): boolean;
} {
  const key = randomBytes(16).toString("base64");
  const accepted = createHash("sha1")
    .update(key + GUID)
    .digest("base64");
  return {
    asked: {
      connection: "Upgrade",
      upgrade: "websocket",
      "sec-websocket-key": key,
      "sec-websocket-version": "13",
    },
    isAccepted: ({ headers }) => headers["sec-websocket-accept"] === accepted,
  };
}

export class NodeSocket implements MessageSocket {
  readonly #socket: Duplex;
  readonly #head: Buffer;

  constructor(socket: Duplex, head: Buffer) {
    this.#socket = socket;
    this.#head = head;
    // Whoever reads is told; without a reader nobody minds.
    socket.on("error", () => {});
  }

  send(message: string | Uint8Array): void {
    this.#frame(typeof message === "string" ? TEXT : BINARY, Buffer.from(message));
  }

  async *messages(): AsyncGenerator<string | Uint8Array> {
    const parts: Frame[] = [];
    try {
      for await (const frame of this.#frames()) {
        if (frame.opcode === PING) this.#frame(PONG, frame.payload);
        if (frame.opcode === CLOSE) return;
        if (![CONTINUED, TEXT, BINARY].includes(frame.opcode)) continue;
        parts.push(frame);
        if (!frame.isLast) continue;
        const whole = Buffer.concat(parts.map(({ payload }) => payload));
        yield parts[0]?.opcode === TEXT ? whole.toString() : whole;
        parts.length = 0;
      }
    } finally {
      this.close();
    }
  }

  close(): void {
    if (this.#socket.destroyed) return;
    this.#frame(CLOSE, Buffer.from([0x03, 0xe8]));
    this.#socket.end(() => this.#socket.destroy());
  }

  async *#frames(): AsyncGenerator<Frame> {
    const reader = new FrameReader();
    yield* reader.push(this.#head);
    try {
      for await (const chunk of this.#socket as AsyncIterable<Buffer>) yield* reader.push(chunk);
    } catch (cause) {
      throw new TransportError("the connection broke", { cause });
    }
  }

  #frame(opcode: number, payload: Uint8Array): void {
    if (this.#socket.writable) this.#socket.write(maskedFrame(opcode, payload));
  }
}

function maskedFrame(opcode: number, payload: Uint8Array): Buffer {
  const { length } = payload;
  const size = length < 126 ? 0 : length < 65_536 ? 2 : 8;
  const head = Buffer.alloc(2 + size);
  head[0] = 0x80 | opcode;
  head[1] = 0x80 | (size === 0 ? length : size === 2 ? 126 : 127);
  if (size === 2) head.writeUInt16BE(length, 2);
  if (size === 8) head.writeBigUInt64BE(BigInt(length), 2);
  const mask = randomBytes(4);
  const masked = payload.map((byte, index) => byte ^ (mask[index % 4] ?? 0));
  return Buffer.concat([head, mask, masked]);
}
