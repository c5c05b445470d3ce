/**
 * The beginning of a stream, for somebody else than whoever reads the rest of it: what comes is heard here until the
 * preface is over, and what is written here goes the same way as what is written to the stream itself. So the one who
 * will read the rest may write already. A stream that has such a beginning asks its slot who is to hear what comes.
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

/** The place of a preface in the stream that it is the beginning of. */
export class PrefaceSlot {
  #preface: Preface | null = null;
  #hasEnded = false;

  /** Before anything of the stream was read. */
  begin(stream: Duplex): Preface {
    const preface = new Preface(stream);
    this.#preface = preface;
    stream.once("close", () => preface.destroy());
    return preface;
  }

  /** False where it is for whoever reads the rest. A preface is a few messages, which are never too much. */
  take(chunk: Buffer): boolean {
    if (this.#preface === null) return false;
    // Whoever reads a socket may use its buffer again.
    this.#preface.push(Buffer.from(chunk));
    return true;
  }

  /** The stream's end: false where whoever reads the rest is to be told. */
  takeEnd(): boolean {
    if (this.#preface === null) return false;
    if (!this.#hasEnded) this.#preface.push(null);
    this.#hasEnded = true;
    return true;
  }

  /** It is over: what came and was not heard is the rest's, and so is an end that came meanwhile. */
  end(): { readonly left: Buffer | null; readonly hasEnded: boolean } {
    const left = this.#preface?.unheard() ?? null;
    this.#preface = null;
    return { left, hasEnded: this.#hasEnded };
  }
}
