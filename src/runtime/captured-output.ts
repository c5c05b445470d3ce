/** A command's output kept for an answer, up to a limit; what is beyond is counted and dropped. */
import { Buffer } from "node:buffer";
import type { OutputSink } from "../guest/index.js";

const FIRST_BLOCK_BYTES = 65_536;
const MAX_STRETCHES = 200_000;
/** Memory for their order is asked for in steps. */
const STRETCHES_STEP = 1024;
const STRETCH_BYTES = 64;

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
  readonly #claim: (bytes: number) => boolean;
  droppedBytes = 0;

  /** `claim` is asked before memory is taken; where it says no, what comes is dropped. */
  constructor(limitBytes: number, claim: (bytes: number) => boolean = () => true) {
    this.#limitBytes = limitBytes;
    this.#claim = claim;
  }

  get keptBytes(): number {
    return this.#keptBytes;
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
    return stream === undefined ? this.#block.subarray(0, this.#keptBytes) : Buffer.concat([...this.parts(stream)]);
  }

  /** The same without a copy, in pieces of at most `mostBytes`. */
  *parts(stream?: 1 | 2, mostBytes: number = this.#limitBytes): Generator<Buffer> {
    const kept = this.#block.subarray(0, this.#keptBytes);
    let at = 0;
    for (const stretch of stream === undefined ? [{ stream, length: this.#keptBytes }] : this.#stretches) {
      const end = at + stretch.length;
      if (stretch.stream === stream) {
        for (let from = at; from < end; from += mostBytes) yield kept.subarray(from, Math.min(end, from + mostBytes));
      }
      at = end;
    }
  }

  #keep(stream: 1 | 2, chunk: Buffer): void {
    const last = this.#stretches.at(-1);
    // Streams that take turns byte by byte: their order costs more than the bytes, so it is kept for the first ones.
    const isTooMixed = last?.stream !== stream && !this.#hasStretch();
    const fits = isTooMixed ? 0 : Math.min(chunk.length, this.#limitBytes - this.#keptBytes);
    const room = fits === 0 ? 0 : Math.min(fits, this.#grown(this.#keptBytes + fits) - this.#keptBytes);
    this.droppedBytes += chunk.length - room;
    if (room === 0) return;
    chunk.copy(this.#block, this.#keptBytes, 0, room);
    this.#keptBytes += room;
    if (last?.stream === stream) last.length += room;
    else this.#stretches.push({ stream, length: room });
  }

  #hasStretch(): boolean {
    const { length } = this.#stretches;
    if (length >= MAX_STRETCHES) return false;
    return length === 0 || length % STRETCHES_STEP > 0 || this.#claim(STRETCHES_STEP * STRETCH_BYTES);
  }

  /** How long the block is now: as long as is needed, where there is memory for it. */
  #grown(neededBytes: number): number {
    const { length } = this.#block;
    if (neededBytes <= length) return length;
    const wanted = Math.min(this.#limitBytes, Math.max(FIRST_BLOCK_BYTES, 2 * length));
    const next = [Math.max(wanted, neededBytes), neededBytes].find((bytes) => this.#claim(bytes - length));
    if (next === undefined) return length;
    const block = Buffer.allocUnsafe(next);
    this.#block.copy(block, 0, 0, this.#keptBytes);
    this.#block = block;
    return next;
  }
}
