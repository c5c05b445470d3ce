/** A command's output kept for an answer, up to a limit; what is beyond is counted and dropped. */
import { Buffer } from "node:buffer";
import type { OutputSink } from "../guest/index.js";

const FIRST_BLOCK_BYTES = 65_536;
const MAX_STRETCHES = 200_000;

/** A stretch of bytes of one stream; neighbours of the same stream are one stretch. */
interface Stretch {
  readonly stream: 1 | 2;
  length: number;
}

/** Bytes lie in one growing block: a guest that sends them one by one must not make an object of each. */
export class CapturedOutput {
  #block: Buffer = Buffer.alloc(0);
  #keptBytes = 0;
  readonly #stretches: Stretch[] = [];
  readonly #limitBytes: number;
  droppedBytes = 0;

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  sink(stream: 1 | 2, onEnd: () => void): OutputSink {
    return {
      write: (chunk, done) => {
        this.#keep(stream, chunk);
        done();
      },
      end: onEnd,
    };
  }

  text(stream?: 1 | 2): string {
    return this.bytes(stream).toString("utf8");
  }

  bytes(stream?: 1 | 2): Buffer {
    const kept = this.#block.subarray(0, this.#keptBytes);
    if (stream === undefined) return kept;
    const parts: Buffer[] = [];
    let at = 0;
    for (const stretch of this.#stretches) {
      if (stretch.stream === stream) parts.push(kept.subarray(at, at + stretch.length));
      at += stretch.length;
    }
    return Buffer.concat(parts);
  }

  #keep(stream: 1 | 2, chunk: Buffer): void {
    const last = this.#stretches.at(-1);
    // Streams that take turns byte by byte: their order costs more than the bytes, so it is kept for the first ones.
    const isTooMixed = last?.stream !== stream && this.#stretches.length >= MAX_STRETCHES;
    const room = isTooMixed ? 0 : Math.min(chunk.length, this.#limitBytes - this.#keptBytes);
    this.droppedBytes += chunk.length - room;
    if (room === 0) return;
    this.#grow(this.#keptBytes + room);
    chunk.copy(this.#block, this.#keptBytes, 0, room);
    this.#keptBytes += room;
    if (last?.stream === stream) last.length += room;
    else this.#stretches.push({ stream, length: room });
  }

  #grow(neededBytes: number): void {
    if (neededBytes <= this.#block.length) return;
    const block = Buffer.allocUnsafe(Math.max(FIRST_BLOCK_BYTES, 2 * this.#block.length, neededBytes));
    this.#block.copy(block, 0, 0, this.#keptBytes);
    this.#block = block;
  }
}
