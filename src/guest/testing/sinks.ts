/** Sinks for tests: one that takes everything at once, and one that takes nothing until it is told to. */
import type { AgentKernelError } from "../../core/errors.js";
import type { OutputSink } from "../inbound-stream.js";

export class CollectingSink implements OutputSink {
  readonly #parts: Buffer[] = [];
  readonly ended: Promise<AgentKernelError | undefined>;
  #end: (error: AgentKernelError | undefined) => void = () => {};

  constructor() {
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  write(chunk: Buffer, done: () => void): void {
    this.#parts.push(Buffer.from(chunk));
    done();
  }

  end(error?: AgentKernelError): void {
    this.#end(error);
  }

  get bytes(): Buffer {
    return Buffer.concat(this.#parts);
  }
}

export class StuckSink implements OutputSink {
  offeredBytes = 0;
  offers = 0;
  isEnded = false;
  readonly ended: Promise<void>;
  #stuck = true;
  readonly #waiting: (() => void)[] = [];
  #end: () => void = () => {};
  #onOffer: (() => void)[] = [];

  constructor() {
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  write(chunk: Buffer, done: () => void): void {
    this.offeredBytes += chunk.length;
    this.offers++;
    if (this.#stuck) this.#waiting.push(done);
    else done();
    for (const wake of this.#onOffer.splice(0)) wake();
  }

  end(): void {
    this.isEnded = true;
    this.#end();
  }

  nextOffer(): Promise<void> {
    return new Promise((resolve) => this.#onOffer.push(resolve));
  }

  release(): void {
    this.#stuck = false;
    for (const done of this.#waiting.splice(0)) done();
  }
}
