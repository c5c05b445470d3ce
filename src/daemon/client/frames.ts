/** The frames of the client protocol (spec/client-protocol.md), as bytes. */
import { Buffer } from "node:buffer";

export const ClientFrame = {
  start: 1,
  data: 2,
  eof: 3,
  credit: 4,
  closed: 5,
  signal: 6,
  window: 7,
  raw: 8,
  exit: 9,
  will: 10,
} as const;
export type ClientFrame = (typeof ClientFrame)[keyof typeof ClientFrame];

const HEADER_BYTES = 8;
const MAX_PAYLOAD_BYTES = 4 << 20;
/** All frames but START and DATA are a few bytes. */
const MAX_SHORT_BYTES = 64;

export function encodeHeader(type: ClientFrame, stream: number, length: number): Buffer {
  const header = Buffer.allocUnsafe(HEADER_BYTES);
  header.writeUInt32LE(length, 0);
  header[4] = type;
  header[5] = stream;
  header[6] = 0;
  header[7] = 0;
  return header;
}

export function encodeFrame(type: ClientFrame, stream: number, payload: Uint8Array = Buffer.alloc(0)): Buffer {
  return Buffer.concat([encodeHeader(type, stream, payload.length), payload]);
}

export function encodeNumber(type: ClientFrame, stream: number, value: number): Buffer {
  const payload = Buffer.allocUnsafe(4);
  payload.writeUInt32LE(value);
  return encodeFrame(type, stream, payload);
}

export interface FrameReceiver {
  /** A piece of a DATA frame; frames of data have no other meaning than their bytes. */
  data(stream: number, piece: Buffer): void;
  frame(type: number, stream: number, payload: Buffer): void;
}

/** Bytes in any pieces go in, frames come out. Throws where they cannot be frames. */
export class FrameDecoder {
  readonly #receiver: FrameReceiver;
  #held: Buffer = Buffer.alloc(0);
  /** Bytes left of the current DATA frame. */
  #missing = 0;
  #stream = 0;

  constructor(receiver: FrameReceiver) {
    this.#receiver = receiver;
  }

  push(chunk: Buffer): void {
    let rest = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    for (;;) {
      if (this.#missing > 0) {
        const piece = rest.subarray(0, this.#missing);
        rest = rest.subarray(piece.length);
        this.#missing -= piece.length;
        if (piece.length > 0) this.#receiver.data(this.#stream, piece);
      }
      if (this.#missing > 0 || rest.length < HEADER_BYTES) break;
      const length = rest.readUInt32LE(0);
      const [type = 0, stream = 0] = rest.subarray(4);
      checkLength(type, length);
      if (type === ClientFrame.data) {
        this.#missing = length;
        this.#stream = stream;
        rest = rest.subarray(HEADER_BYTES);
      } else if (rest.length < HEADER_BYTES + length) {
        break;
      } else {
        const payload = rest.subarray(HEADER_BYTES, HEADER_BYTES + length);
        rest = rest.subarray(HEADER_BYTES + length);
        this.#receiver.frame(type, stream, payload);
      }
    }
    this.#held = rest;
  }
}

function checkLength(type: number, length: number): void {
  const most = type === ClientFrame.start || type === ClientFrame.data ? MAX_PAYLOAD_BYTES : MAX_SHORT_BYTES;
  if (length > most) throw new RangeError(`a frame of type ${type} announces ${length} bytes`);
}
