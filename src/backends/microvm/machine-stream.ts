/**
 * The stream to what runs in a machine, over the socket that its monitor has the other end of. Where the machine stays
 * after its sandbox has ended, it is told apart here who of them speaks: the guest's part ends, and what follows can be
 * had as a stream of its own.
 */
import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import { deferred } from "../../core/deferred.js";
import { AgentKernelError } from "../../core/errors.js";
import { encodeJson, FrameType, HEADER_BYTES } from "../../guest/frame.js";
import { readerOf, type SocketReader } from "../../guest/index.js";
import { type Preface, PrefaceSlot } from "../entry/preface.js";
import { TokenScanner } from "./token-scanner.js";

const HIGH_WATER_BYTES = 1 << 20;

export abstract class OverSocket extends Duplex {
  protected readonly socket: Socket;
  protected readonly reader: SocketReader;

  constructor(socket: Socket) {
    super({ allowHalfOpen: true, readableHighWaterMark: HIGH_WATER_BYTES, writableHighWaterMark: HIGH_WATER_BYTES });
    this.socket = socket;
    this.reader = readerOf(socket);
    socket.once("end", () => this.endReading());
    socket.once("error", (error) => this.destroy(error));
    socket.once("close", () => {
      // Without an end it was cut off; who reads is told so either way.
      this.endReading();
      this.destroy();
    });
  }

  /** How many bytes have come and gone. */
  get movedBytes(): number {
    return this.socket.bytesRead + this.socket.bytesWritten;
  }

  /** The reader uses its buffer again. */
  protected pass(chunk: Buffer): void {
    if (chunk.length > 0 && !this.destroyed && !this.push(Buffer.from(chunk))) this.reader.pause();
  }

  protected endReading(): void {
    if (!this.readableEnded && !this.destroyed) this.push(null);
  }

  override _read(): void {
    this.reader.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.socket.write(chunk, done);
  }

  override _writev(chunks: { chunk: Buffer }[], done: (error?: Error | null) => void): void {
    this.socket.cork();
    for (const [index, { chunk }] of chunks.entries()) {
      if (index === chunks.length - 1) this.socket.write(chunk, done);
      else this.socket.write(chunk);
    }
    this.socket.uncork();
  }

  override _final(done: (error?: Error | null) => void): void {
    this.socket.end(() => done());
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.socket.destroy();
    done(error);
  }
}

/** What follows the guest's part. */
class RestStream extends OverSocket {
  constructor(socket: Socket, first: Buffer) {
    super(socket);
    this.pass(first);
  }

  hear(chunk: Buffer): void {
    this.pass(chunk);
  }
}

export class MachineStream extends OverSocket {
  readonly #rest = deferred<Duplex>();
  #scanner: TokenScanner | null = null;
  #following: RestStream | null = null;
  readonly #beginning = new PrefaceSlot();
  #isLetGo = false;
  /** How much of a frame to the guest is still to be written, and the header while it is not whole. */
  #frameLeft = 0;
  #header: Buffer = Buffer.alloc(0);

  constructor(socket: Socket) {
    super(socket);
    socket.once("close", () => this.#rest.reject(new AgentKernelError("sandbox_died", "the machine is gone")));
    this.reader.start((chunk) => this.#take(chunk));
  }

  /** Whoever is to hear what comes before the guest's part. Before anything was read. */
  beginPreface(): Preface {
    return this.#beginning.begin(this);
  }

  /** From here on it is this stream that is read, from the first byte that was not heard before. */
  endPreface(): void {
    const { left, hasEnded } = this.#beginning.end();
    if (left !== null) this.#take(left);
    if (hasEnded) this.endReading();
  }

  protected override endReading(): void {
    if (!this.#beginning.takeEnd()) super.endReading();
  }

  /** These bytes end the guest's part. Before that begins. */
  endsWith(token: Buffer): void {
    this.#scanner = new TokenScanner(token);
  }

  get isLetGo(): boolean {
    return this.#isLetGo;
  }

  /**
   * Asks the guest to end, and gives what the machine says when that has happened. Whoever had the guest's part is done
   * with it: destroying it is not the end of the machine any more.
   */
  letGo(): Promise<Duplex> {
    this.#isLetGo = true;
    this.socket.write(Buffer.alloc(this.#frameLeft));
    this.socket.write(encodeJson(FrameType.shutdown, 0, { grace_ms: 0 }));
    this.reader.resume();
    return this.#rest.promise;
  }

  #take(chunk: Buffer): void {
    if (this.#beginning.take(chunk)) return;
    if (this.#following !== null) {
      this.#following.hear(chunk);
      return;
    }
    if (this.#scanner === null) {
      this.pass(chunk);
      return;
    }
    const { before, after } = this.#scanner.scan(chunk);
    if (!this.#isLetGo) this.pass(before);
    if (after === null) return;
    this.endReading();
    this.#following = new RestStream(this.socket, after);
    this.#rest.resolve(this.#following);
  }

  override _write(chunk: Buffer, encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    if (this.#scanner !== null) this.#follow(chunk);
    super._write(chunk, encoding, done);
  }

  override _writev(chunks: { chunk: Buffer }[], done: (error?: Error | null) => void): void {
    if (this.#scanner !== null) for (const { chunk } of chunks) this.#follow(chunk);
    super._writev(chunks, done);
  }

  /** One that was cut off has to be whole before another can follow it. */
  #follow(chunk: Buffer): void {
    for (let at = 0; at < chunk.length; ) {
      if (this.#frameLeft > 0) {
        const part = Math.min(this.#frameLeft, chunk.length - at);
        this.#frameLeft -= part;
        at += part;
        continue;
      }
      const wanted = HEADER_BYTES - this.#header.length;
      this.#header = Buffer.concat([this.#header, chunk.subarray(at, at + wanted)]);
      at += wanted;
      if (this.#header.length < HEADER_BYTES) return;
      this.#frameLeft = this.#header.readUInt32LE(0);
      this.#header = Buffer.alloc(0);
    }
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    if (this.#isLetGo) done(error);
    else super._destroy(error, done);
  }
}
