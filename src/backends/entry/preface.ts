/**
 * The beginning of a stream, for somebody else than whoever reads the rest of it: what comes is heard here until the
 * preface is over, and what is written here goes the same way as what is written to the stream itself. So the one who
 * will read the rest may write already.
 */
import { Duplex } from "node:stream";

export class Preface extends Duplex {
  readonly #stream: Duplex;

  constructor(stream: Duplex) {
    super({ allowHalfOpen: true, writableHighWaterMark: 1 << 20 });
    this.#stream = stream;
    this.on("error", () => {});
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#stream.write(chunk, done);
  }

  /** What came and was not heard here. */
  unheard(): Buffer | null {
    const left: unknown = this.read();
    return Buffer.isBuffer(left) ? left : null;
  }
}
