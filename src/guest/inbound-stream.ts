/**
 * One stream from the guest to a sink, with its credit. Bytes are counted against what was granted when their frame
 * is announced, and granted again when the sink is done with them, so what is held here never exceeds the window.
 */
import { Buffer } from "node:buffer";
import type { AgentKernelError } from "../core/errors.js";
import type { Lent, ReadLease } from "./socket-reader.js";
import { GuestViolation } from "./violation.js";
import type { WindowPool } from "./window-pool.js";

/** Where output goes. It is back-pressure by `done`: bytes that are not done with count against the window. */
export interface OutputSink {
  /** `chunk` is only lent until `done` is called, exactly once, during this call or later. */
  write(chunk: Buffer, done: () => void): void;
  /** After the last chunk is done with. With an error: the stream was cut off. */
  end(error?: AgentKernelError): void;
}

/** So that a flood of one-byte frames does not become a flood of objects at the sink. */
export const MAX_WRITES_IN_FLIGHT = 32;
const BLOCK_BYTES = 65_536;

interface InboundStreamOptions {
  readonly windowBytes: number;
  /** With a pool: how far the window grows, as far as the pool allows, while the sink keeps up. */
  readonly maxWindowBytes?: number;
  readonly pool?: WindowPool;
  readonly lease: ReadLease;
  /**
   * Bytes that were taken last and are not granted again yet. For a kept command granting is acknowledging, and what is
   * not acknowledged is what the next host can have again.
   */
  readonly heldBackBytes?: number;
  grant(bytes: number): void;
  /** The sink threw: a fault of the host's own. */
  sinkFault(error: unknown): void;
}

export class InboundStream {
  readonly #options: InboundStreamOptions;
  #windowBytes: number;
  #allowance: number;
  #takenBytes = 0;
  #sink: OutputSink | null = null;
  #writesInFlight = 0;
  readonly #queue: Buffer[] = [];
  #queuedBytes = 0;
  /** How much of the last queued block is filled; the block is ours and small pieces are copied into it. */
  #blockFill = BLOCK_BYTES;
  #ended = false;
  #endError: AgentKernelError | undefined;
  #sinkEnded = false;
  #delivering = false;

  constructor(options: InboundStreamOptions) {
    this.#options = options;
    this.#allowance = options.windowBytes;
    this.#windowBytes = options.windowBytes;
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** Bytes that arrived and that no sink has been given yet. */
  get queuedBytes(): number {
    return this.#queuedBytes;
  }

  attach(sink: OutputSink): void {
    if (this.#sink) throw new TypeError("this stream has a sink already");
    this.#sink = sink;
    this.#deliver();
  }

  /** A frame of `length` bytes is coming. */
  reserve(length: number): void {
    if (this.#ended) throw new GuestViolation("data-after-eof", "DATA on a stream that it had ended");
    if (length > this.#allowance) {
      throw new GuestViolation("over-credit", `${length} bytes of DATA where ${this.#allowance} were granted`);
    }
    this.#allowance -= length;
  }

  push(piece: Buffer): void {
    if (this.#sink && this.#queue.length === 0 && this.#writesInFlight < MAX_WRITES_IN_FLIGHT) {
      const lent = this.#options.lease.hold();
      if (lent) this.#handOver(this.#sink, piece, lent);
      else this.#handOver(this.#sink, Buffer.from(piece), null);
    } else {
      this.#enqueue(piece);
    }
  }

  finish(): void {
    if (this.#ended) throw new GuestViolation("second-eof", "EOF on a stream that it had ended");
    this.#over();
    this.#deliver();
  }

  /** No more will come. What has arrived still reaches the sink. */
  abort(error?: AgentKernelError): void {
    if (this.#ended) return;
    this.#over();
    this.#endError = error;
    this.#deliver();
  }

  #over(): void {
    this.#ended = true;
    this.#options.pool?.giveBack(this.#windowBytes - this.#options.windowBytes);
  }

  #enqueue(piece: Buffer): void {
    this.#queuedBytes += piece.length;
    let at = 0;
    while (at < piece.length) {
      let block = this.#queue.at(-1);
      if (block === undefined || this.#blockFill === block.length) {
        block = Buffer.allocUnsafeSlow(BLOCK_BYTES);
        this.#blockFill = 0;
        this.#queue.push(block);
      }
      const taken = piece.copy(block, this.#blockFill, at);
      this.#blockFill += taken;
      at += taken;
    }
  }

  #deliver(): void {
    const sink = this.#sink;
    if (!sink || this.#delivering) return;
    this.#delivering = true;
    try {
      while (this.#queue.length > 0 && this.#writesInFlight < MAX_WRITES_IN_FLIGHT) {
        const block = this.#queue.shift();
        if (!block) break;
        const chunk = this.#queue.length === 0 ? block.subarray(0, this.#blockFill) : block;
        this.#queuedBytes -= chunk.length;
        this.#handOver(sink, chunk, null);
      }
    } finally {
      this.#delivering = false;
    }
    if (this.#ended && !this.#sinkEnded && this.#queue.length === 0 && this.#writesInFlight === 0) {
      this.#sinkEnded = true;
      try {
        sink.end(this.#endError);
      } catch (error) {
        this.#options.sinkFault(error);
      }
    }
  }

  #handOver(sink: OutputSink, chunk: Buffer, lent: Lent | null): void {
    const length = chunk.length;
    let open = true;
    this.#writesInFlight++;
    const done = () => {
      if (!open) return;
      open = false;
      this.#writesInFlight--;
      lent?.release();
      this.#taken(length);
      if (this.#queue.length > 0 || this.#ended) this.#deliver();
    };
    try {
      sink.write(chunk, done);
    } catch (error) {
      this.#options.sinkFault(error);
    }
  }

  #taken(bytes: number): void {
    const { heldBackBytes = 0 } = this.#options;
    this.#takenBytes += bytes;
    if (this.#takenBytes - heldBackBytes < this.#windowBytes >>> 1 || this.#ended) return;
    const grant = this.#takenBytes - heldBackBytes + this.#growth();
    this.#takenBytes = heldBackBytes;
    this.#allowance += grant;
    this.#options.grant(grant);
  }

  /** A sink that takes everything at once is sent further ahead. */
  #growth(): number {
    const { pool, maxWindowBytes = 0 } = this.#options;
    const growth = this.#windowBytes;
    const keepsUp = this.#queue.length === 0 && this.#writesInFlight === 0;
    if (!pool || !keepsUp || growth * 2 > maxWindowBytes || !pool.take(growth)) return 0;
    this.#windowBytes += growth;
    return growth;
  }
}
