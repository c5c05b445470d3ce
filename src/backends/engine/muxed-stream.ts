/**
 * The standard streams of a process in a container, over one connection. What is written goes to its stdin. What comes
 * is framed by the engine: a byte that says which stream, three zeros, a length of four bytes, big-endian, and so many
 * bytes. Its stdout is what is read here; of its stderr the last words are remembered, for they say why it ended.
 */
import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import { type Preface, PrefaceSlot } from "../entry/preface.js";

const HEADER_BYTES = 8;
const STDERR = 2;
const MAX_WORDS_CHARS = 2000;

export class MuxedStream extends Duplex {
  readonly #socket: Socket;
  #header: Buffer = Buffer.alloc(0);
  #left = 0;
  #isStderr = false;
  #words = "";
  readonly #beginning = new PrefaceSlot();
  #hasEnded = false;

  constructor(socket: Socket) {
    super({ allowHalfOpen: true, readableHighWaterMark: 1 << 20, writableHighWaterMark: 1 << 20 });
    this.#socket = socket;
    socket.on("data", (chunk: Buffer) => {
      if (!this.#take(chunk)) socket.pause();
    });
    socket.once("end", () => this.#finish());
    socket.once("error", (error) => this.destroy(error));
    socket.once("close", () => {
      // Without an end it was cut off; who reads is told so either way.
      if (!this.readableEnded) this.#finish();
      this.destroy();
    });
  }

  /** The end of the process's stderr. */
  get words(): string {
    return this.#words.trim();
  }

  /** Whoever is to hear what comes before `endPreface`. Before anything was read. */
  beginPreface(): Preface {
    return this.#beginning.begin(this);
  }

  /** From here on it is this stream that is read, from the first byte that was not heard before. */
  endPreface(): void {
    const { left, hasEnded } = this.#beginning.end();
    if (this.destroyed) return;
    if (left !== null) this.push(left);
    if (hasEnded) this.#finish();
  }

  override _read(): void {
    this.#socket.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#socket.write(chunk, done);
  }

  override _writev(chunks: { chunk: Buffer }[], done: (error?: Error | null) => void): void {
    this.#socket.cork();
    for (const [index, { chunk }] of chunks.entries()) {
      if (index === chunks.length - 1) this.#socket.write(chunk, done);
      else this.#socket.write(chunk);
    }
    this.#socket.uncork();
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#socket.end(() => done());
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#socket.destroy();
    done(error);
  }

  /** False where who reads has enough for now. */
  #take(chunk: Buffer): boolean {
    let wantsMore = true;
    let at = 0;
    while (at < chunk.length) {
      if (this.#left === 0) {
        const part = chunk.subarray(at, at + HEADER_BYTES - this.#header.length);
        at += part.length;
        this.#header = this.#header.length === 0 ? part : Buffer.concat([this.#header, part]);
        if (this.#header.length < HEADER_BYTES) {
          this.#header = Buffer.from(this.#header);
          break;
        }
        this.#isStderr = this.#header[0] === STDERR;
        this.#left = this.#header.readUInt32BE(4);
        this.#header = Buffer.alloc(0);
        continue;
      }
      const part = chunk.subarray(at, at + this.#left);
      at += part.length;
      this.#left -= part.length;
      if (this.#isStderr) this.#words = (this.#words + part.toString("utf8")).slice(-MAX_WORDS_CHARS);
      else wantsMore = (this.#beginning.take(part) || this.push(part)) && wantsMore;
    }
    return wantsMore;
  }

  #finish(): void {
    if (this.#beginning.takeEnd() || this.#hasEnded) return;
    this.#hasEnded = true;
    this.push(null);
  }
}
