/**
 * Reading a socket into a few large buffers that are used again, for sockets whose bytes are only passed on: several
 * times cheaper than a new buffer for every read. Pass `onread` to `net.connect` or `new Socket`.
 */
import { Buffer } from "node:buffer";

const BUFFER_BYTES = 262_144;

/** False: no more for now. `release` says that the chunk's bytes are not needed any more. */
export type TakeChunk = (chunk: Buffer, release: () => void) => boolean;

export class PooledReads {
  readonly onread: { buffer(): Buffer<ArrayBuffer>; callback(length: number): boolean };
  readonly #idle: Buffer<ArrayBuffer>[] = [];
  #current: Buffer<ArrayBuffer> | null = null;

  constructor(take: TakeChunk) {
    this.onread = {
      buffer: () => {
        this.#current ??= this.#idle.pop() ?? Buffer.allocUnsafeSlow(BUFFER_BYTES);
        return this.#current;
      },
      callback: (length) => {
        const buffer = this.#current;
        if (buffer === null) throw new TypeError("read into a buffer that was not asked for");
        this.#current = null;
        return take(buffer.subarray(0, length), () => this.#idle.push(buffer));
      },
    };
  }
}
