/** Frames of RFC 6455 out of bytes, however these are cut. */
import { BadAnswerError } from "../errors.js";

export interface Frame {
  readonly opcode: number;
  /** The message ends with it. */
  readonly isLast: boolean;
  readonly payload: Buffer;
}

const MAX_BYTES = 64 * 1024 * 1024;

export class FrameReader {
  #rest = Buffer.alloc(0);

  *push(chunk: Buffer): Generator<Frame> {
    this.#rest = Buffer.concat([this.#rest, chunk]);
    for (let frame = this.#next(); frame !== null; frame = this.#next()) yield frame;
  }

  #next(): Frame | null {
    const rest = this.#rest;
    if (rest.length < 2) return null;
    const [first = 0, second = 0] = rest;
    const short = second & 0x7f;
    const start = short < 126 ? 2 : short === 126 ? 4 : 10;
    if (rest.length < start) return null;
    const length = short < 126 ? short : short === 126 ? rest.readUInt16BE(2) : Number(rest.readBigUInt64BE(2));
    // Servers never mask, and nothing that a terminal shows is as long.
    if ((second & 0x80) !== 0 || length > MAX_BYTES)
      throw new BadAnswerError("a frame of the WebSocket makes no sense");
    if (rest.length < start + length) return null;
    this.#rest = rest.subarray(start + length);
    return { opcode: first & 0x0f, isLast: (first & 0x80) !== 0, payload: rest.subarray(start, start + length) };
  }
}
