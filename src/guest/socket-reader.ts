/**
 * Chunks from a socket. A socket made by one of the functions below is read into a few large buffers that are used again as soon
 * as nobody holds a piece of them, which is what makes a gigabyte through one process cheap; any other socket is
 * read through its `data` events.
 */
import { Buffer } from "node:buffer";
import { connect, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { takeHandle } from "../core/socket-handle.js";

export interface Lent {
  release(): void;
}

/** Keeps the chunk that is being handed out valid after the call. */
export interface ReadLease {
  /** null: it cannot be kept, take a copy. */
  hold(): Lent | null;
}

export interface SocketReader extends ReadLease {
  start(onChunk: (chunk: Buffer) => void): void;
  pause(): void;
  resume(): void;
}

const READ_BUFFER_BYTES = 262_144;
/** Most sandboxes say little: the large buffers come when one says more than this at once. */
const FIRST_BUFFER_BYTES = 16_384;
/** Buffers that pieces may be held of; further pieces are copied. Bounds what one session keeps of its reads. */
const MAX_HELD_BUFFERS = 4;

class ReadBuffer implements Lent {
  readonly bytes: Buffer;
  holds = 0;
  readonly #onFree: (buffer: ReadBuffer) => void;

  constructor(onFree: (buffer: ReadBuffer) => void, length = READ_BUFFER_BYTES) {
    this.bytes = Buffer.allocUnsafeSlow(length);
    this.#onFree = onFree;
  }

  release(): void {
    this.holds--;
    if (this.holds === 0) this.#onFree(this);
  }
}

class PooledReader implements SocketReader {
  readonly #idle: ReadBuffer[] = [];
  #heldBuffers = 0;
  #current: ReadBuffer;
  /** The first buffer was filled to its end. */
  #isBusy = false;
  #onChunk: ((chunk: Buffer) => void) | null = null;
  /** Bytes that arrived before anyone listened: at most one read, for the socket is paused then. */
  #early: Buffer | null = null;
  #socket: Socket | null = null;
  readonly #freed = (buffer: ReadBuffer): void => {
    this.#heldBuffers--;
    if (buffer !== this.#current && buffer.bytes.length === READ_BUFFER_BYTES) this.#idle.push(buffer);
  };

  constructor(firstBytes = FIRST_BUFFER_BYTES) {
    this.#current = new ReadBuffer(this.#freed, firstBytes);
  }

  readonly onread = {
    buffer: (): Buffer => {
      const isTooSmall = this.#isBusy && this.#current.bytes.length < READ_BUFFER_BYTES;
      if (this.#current.holds > 0 || isTooSmall) this.#current = this.#idle.pop() ?? new ReadBuffer(this.#freed);
      return this.#current.bytes;
    },
    callback: (length: number): boolean => {
      this.#isBusy ||= length === this.#current.bytes.length;
      const chunk = this.#current.bytes.subarray(0, length);
      if (this.#onChunk) {
        this.#onChunk(chunk);
        return true;
      }
      this.#early = Buffer.from(chunk);
      return false;
    },
  };

  belongsTo(socket: Socket): void {
    this.#socket = socket;
  }

  hold(): Lent | null {
    if (this.#current.holds === 0) {
      if (this.#heldBuffers === MAX_HELD_BUFFERS) return null;
      this.#heldBuffers++;
    }
    this.#current.holds++;
    return this.#current;
  }

  start(onChunk: (chunk: Buffer) => void): void {
    this.#onChunk = onChunk;
    const early = this.#early;
    this.#early = null;
    if (early) onChunk(early);
    this.#socket?.resume();
  }

  pause(): void {
    this.#socket?.pause();
  }

  resume(): void {
    this.#socket?.resume();
  }
}

const OWNED: Lent = { release() {} };

class DataEventReader implements SocketReader {
  readonly #socket: Duplex;

  constructor(socket: Duplex) {
    this.#socket = socket;
  }

  hold(): Lent {
    return OWNED;
  }

  start(onChunk: (chunk: Buffer) => void): void {
    this.#socket.on("data", onChunk);
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }
}

const pooledReaders = new WeakMap<Duplex, PooledReader>();

/** Connects to a Unix socket, read in the cheapest way. `firstBytes`: of the first buffer, as much as is mostly said at once. */
export function connectStream(path: string, firstBytes?: number): Socket {
  const reader = new PooledReader(firstBytes);
  const socket = connect({ path, onread: reader.onread });
  reader.belongsTo(socket);
  pooledReaders.set(socket, reader);
  return socket;
}

/**
 * The same for a socket that node made, such as a child's extra stdio; use only what this returns from here on.
 * To be called in the turn that made the socket. A socket whose handle cannot be taken is returned as it is and read
 * through its events.
 */
export function adoptStream(socket: Socket): Socket {
  const handle = takeHandle(socket);
  if (handle === null) return socket;
  const reader = new PooledReader();
  const options = { handle, readable: true, writable: true, onread: reader.onread };
  const adopted = new Socket(options);
  reader.belongsTo(adopted);
  pooledReaders.set(adopted, reader);
  // The child's own "close" event waits for the socket that node made.
  adopted.once("close", () => socket.destroy());
  return adopted;
}

export function readerOf(socket: Duplex): SocketReader {
  return pooledReaders.get(socket) ?? new DataEventReader(socket);
}
