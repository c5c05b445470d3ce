/** The last of what a terminal has shown, in bounded memory. */
import { Buffer } from "node:buffer";

const FIRST_BYTES = 4096;

export class Scrollback {
  readonly #mostBytes: number;
  /** A ring once it is full. Most terminals never show much; memory is taken as it is needed. */
  #ring = Buffer.alloc(0);
  /** Of everything that was ever shown. */
  #written = 0;

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  get isEmpty(): boolean {
    return this.#written === 0;
  }

  /** Something was shown that is not held any more. */
  get isCut(): boolean {
    return this.#written > this.#mostBytes;
  }

  push(bytes: Buffer): void {
    const last = bytes.subarray(-this.#mostBytes);
    this.#grow(this.#written + bytes.length);
    const at = (this.#written + bytes.length - last.length) % this.#mostBytes;
    const copied = last.copy(this.#ring, at);
    last.copy(this.#ring, 0, copied);
    this.#written += bytes.length;
  }

  /** The last of it, at most so much. */
  last(mostBytes = this.#mostBytes): Buffer {
    const length = Math.min(mostBytes, this.#written, this.#mostBytes);
    const end = this.isCut ? this.#written % this.#mostBytes : this.#written;
    if (length <= end) return Buffer.from(this.#ring.subarray(end - length, end));
    return Buffer.concat([this.#ring.subarray(this.#mostBytes - (length - end)), this.#ring.subarray(0, end)]);
  }

  #grow(wanted: number): void {
    if (this.#ring.length >= Math.min(wanted, this.#mostBytes)) return;
    const larger = Buffer.alloc(Math.min(this.#mostBytes, Math.max(FIRST_BYTES, this.#ring.length * 2, wanted)));
    this.#ring.copy(larger);
    this.#ring = larger;
  }
}
