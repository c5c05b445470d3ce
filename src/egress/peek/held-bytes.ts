/**
 * Bytes that wait for the rest of what they begin. They grow without being copied once per byte, and count against
 * what the sandbox may have held in all.
 */
import { Buffer } from "node:buffer";
import type { Allowance } from "../limits.js";

const SMALLEST = 512;
const nothing = Buffer.alloc(0);

export class HeldBytes {
  readonly #allowance: Allowance;
  #buffer: Buffer = nothing;
  #length = 0;

  constructor(allowance: Allowance) {
    this.#allowance = allowance;
  }

  get length(): number {
    return this.#length;
  }

  /** Valid until the next call that changes them. */
  get bytes(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  /** False where the sandbox holds too much already. */
  append(chunk: Buffer): boolean {
    const needed = this.#length + chunk.length;
    if (needed > this.#buffer.length) {
      const size = Math.max(SMALLEST, needed, this.#buffer.length * 2);
      if (!this.#allowance.take(size - this.#buffer.length)) return false;
      const grown = Buffer.allocUnsafeSlow(size);
      this.#buffer.copy(grown, 0, 0, this.#length);
      this.#buffer = grown;
    }
    chunk.copy(this.#buffer, this.#length);
    this.#length = needed;
    return true;
  }

  /** Hands all of them over and is empty again. */
  take(): Buffer {
    const taken = this.bytes;
    this.#allowance.give(this.#buffer.length);
    this.#buffer = nothing;
    this.#length = 0;
    return taken;
  }
}
