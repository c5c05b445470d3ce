/** The stream to what runs in a machine, over the socket that its monitor has the other end of. */
import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import { readerOf, type SocketReader } from "../../guest/index.js";

const HIGH_WATER_BYTES = 1 << 20;

export class MachineStream extends Duplex {
  readonly #socket: Socket;
  readonly #reader: SocketReader;

  constructor(socket: Socket) {
    super({ allowHalfOpen: true, readableHighWaterMark: HIGH_WATER_BYTES, writableHighWaterMark: HIGH_WATER_BYTES });
    this.#socket = socket;
    this.#reader = readerOf(socket);
    socket.once("end", () => this.push(null));
    socket.once("error", (error) => this.destroy(error));
    socket.once("close", () => {
      // Without an end it was cut off; who reads is told so either way.
      if (!this.readableEnded && !this.destroyed) this.push(null);
      this.destroy();
    });
    this.#reader.start((chunk) => {
      // The reader uses its buffer again.
      if (!this.destroyed && !this.push(Buffer.from(chunk))) this.#reader.pause();
    });
  }

  override _read(): void {
    this.#reader.resume();
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

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#socket.destroy();
    done(error);
  }
}
