/**
 * Reading a socket into a few large buffers that are used again, for sockets whose bytes are only passed on: several
 * times cheaper than a new buffer for every read. A socket starts with a small buffer, since most are read from
 * seldom, and shares large ones with the others of its pool while much arrives.
 */
import { Buffer } from "node:buffer";
import { Socket } from "node:net";
import { takeHandle } from "./socket-handle.js";

const SMALL_BYTES = 16_384;
const LARGE_BYTES = 524_288;
/** Large buffers of one pool; sockets beyond go on with small ones. */
const MOST_LARGE = 32;
const MOST_IDLE_SMALL = 64;
/** While one large chunk is on its way to whoever takes it, the next is read. */
const LARGE_AHEAD = 2;

type Bytes = Buffer<ArrayBuffer>;

/** Buffers for all sockets of one owner. */
export class ReadPool {
  readonly #idleSmall: Bytes[] = [];
  readonly #idleLarge: Bytes[] = [];
  #largeMade = 0;

  take(wantsLarge: boolean): Bytes {
    return (wantsLarge ? this.#takeLarge() : null) ?? this.#idleSmall.pop() ?? Buffer.allocUnsafeSlow(SMALL_BYTES);
  }

  give(buffer: Bytes): void {
    if (isLarge(buffer)) this.#idleLarge.push(buffer);
    else if (this.#idleSmall.length < MOST_IDLE_SMALL) this.#idleSmall.push(buffer);
  }

  #takeLarge(): Bytes | null {
    const idle = this.#idleLarge.pop();
    if (idle !== undefined || this.#largeMade === MOST_LARGE) return idle ?? null;
    this.#largeMade++;
    return Buffer.allocUnsafeSlow(LARGE_BYTES);
  }
}

const isLarge = (buffer: Bytes): boolean => buffer.length === LARGE_BYTES;

/**
 * False: no more for now; whoever takes then resumes the socket. `release` says that the chunk's bytes are not needed
 * any more.
 */
export type TakeChunk = (chunk: Buffer, release: () => void) => boolean;

class PooledReads {
  readonly onread: { buffer(): Bytes; callback(length: number): boolean };
  readonly #pool: ReadPool;
  #current: Bytes | null = null;
  #wantsLarge = false;
  #largeLent = 0;
  #stopped = false;
  #resume: (() => void) | null = null;

  constructor(pool: ReadPool, take: TakeChunk) {
    this.#pool = pool;
    this.onread = {
      buffer: () => {
        this.#current ??= pool.take(this.#wantsLarge);
        return this.#current;
      },
      callback: (length) => {
        const buffer = this.#current;
        if (buffer === null) throw new TypeError("read into a buffer that was not asked for");
        this.#current = null;
        this.#wantsLarge = length > SMALL_BYTES || length === buffer.length;
        if (isLarge(buffer)) this.#largeLent++;
        const takesMore = take(buffer.subarray(0, length), () => this.#release(buffer));
        this.#stopped = !takesMore && !(isLarge(buffer) && this.#largeLent < LARGE_AHEAD);
        return !this.#stopped;
      },
    };
  }

  belongsTo(socket: Socket): void {
    this.#resume = () => socket.resume();
    socket.once("close", () => {
      this.#resume = null;
      if (this.#current !== null) this.#pool.give(this.#current);
      this.#current = null;
    });
  }

  #release(buffer: Bytes): void {
    this.#pool.give(buffer);
    if (!isLarge(buffer)) return;
    this.#largeLent--;
    if (!this.#stopped) return;
    this.#stopped = false;
    this.#resume?.();
  }
}

/**
 * The same connection as another socket that is read this way; use only that from here on. Null where the socket has
 * already been read from, or is none whose handle can be taken.
 */
export function readPooled(socket: Socket, pool: ReadPool, take: TakeChunk): Socket | null {
  const { allowHalfOpen } = socket;
  const handle = takeHandle(socket);
  if (handle === null) return null;
  const reads = new PooledReads(pool, take);
  const options = { handle, allowHalfOpen, readable: true, writable: true, onread: reads.onread };
  const pooled = new Socket(options);
  reads.belongsTo(pooled);
  return pooled;
}
