/**
 * The two byte streams of one channel as a Node stream, for a TCP connection that goes over it. Half-close is kept:
 * each direction ends by itself. A write is done when
 * its bytes have left this process: its buffer may then be used again.
 */
import type { Buffer } from "node:buffer";
import { Duplex } from "node:stream";
import type { InboundStream, OutputSink } from "./inbound-stream.js";
import type { OutboundStream } from "./outbound-stream.js";

interface StreamEnds {
  readonly inbound: InboundStream;
  readonly outbound: OutboundStream;
  /** Bytes that may wait here for credit before the writer is asked to wait. */
  readonly writeAheadBytes: number;
  /** Something is about to be sent, bytes or their end. */
  beforeSend(): void;
  /** Nobody uses the stream any more, in order or because of an error. */
  released(error: Error | null): void;
}

/** Bytes buffered on the readable side beyond the channel's window; too few to earn the guest more credit. */
const READ_AHEAD_BYTES = 16_384;

type Done = (error?: Error | null) => void;

export class ChannelStream extends Duplex {
  readonly #ends: StreamEnds;
  /** Chunks that the reader has not come to; until then the guest is not granted their bytes again. */
  readonly #held: (() => void)[] = [];

  /** Precondition: what `inbound` hands out belongs to whoever takes it. */
  constructor(ends: StreamEnds) {
    super({
      allowHalfOpen: true,
      readableHighWaterMark: READ_AHEAD_BYTES,
      writableHighWaterMark: ends.writeAheadBytes,
    });
    this.#ends = ends;
    ends.inbound.attach(this.#sink());
  }

  #sink(): OutputSink {
    return {
      write: (chunk, done) => {
        if (this.destroyed || this.push(chunk)) done();
        else this.#held.push(done);
      },
      end: (error) => {
        if (error) this.destroy(error);
        else if (!this.destroyed) this.push(null);
      },
    };
  }

  override _read(): void {
    for (const done of this.#held.splice(0)) done();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.#ends.beforeSend();
    this.#ends.outbound.write(chunk, done);
  }

  override _writev(chunks: readonly { readonly chunk: Buffer }[], done: () => void): void {
    this.#ends.beforeSend();
    const last = chunks.length - 1;
    chunks.forEach(({ chunk }, index) => {
      this.#ends.outbound.write(chunk, index === last ? done : undefined);
    });
  }

  override _final(done: Done): void {
    this.#ends.beforeSend();
    this.#ends.outbound.end();
    done();
  }

  override _destroy(error: Error | null, done: Done): void {
    this.#ends.released(error);
    for (const release of this.#held.splice(0)) release();
    done(error);
  }
}
