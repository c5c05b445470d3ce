/** Bytes of two streams onto stdout and stderr, no faster than they are read, and not at all once nobody does. */
import type { Buffer } from "node:buffer";
import type { AgentKernelError } from "../../core/errors.js";
import type { CommandOutput, Invocation } from "../../invocation/index.js";

export class LogOutput {
  readonly #outputs: Readonly<Record<1 | 2, CommandOutput>>;
  readonly #given: Promise<void>;
  #failure: AgentKernelError | null = null;

  constructor({ stdout, stderr }: Pick<Invocation, "stdout" | "stderr">, signal: AbortSignal) {
    const closed = (why: AgentKernelError | null) => {
      this.#failure ??= why;
    };
    this.#outputs = { 1: stdout.open(closed), 2: stderr.open(closed) };
    this.#given = new Promise((resolve) => {
      if (signal.aborted) resolve();
      else signal.addEventListener("abort", () => resolve(), { once: true });
    });
  }

  /** Resolves when it was taken; until then the bytes are lent. */
  async write(stream: 1 | 2, bytes: Buffer): Promise<void> {
    const { sink } = this.#outputs[stream];
    await Promise.race([new Promise<void>((resolve) => sink.write(bytes, resolve)), this.#given]);
    if (this.#failure !== null) throw this.#failure;
  }

  /** Resolves when all was written, or nobody reads it any more. */
  async end(): Promise<void> {
    for (const { sink } of Object.values(this.#outputs)) sink.end();
    await Promise.race([Promise.all(Object.values(this.#outputs).map(({ done }) => done)), this.#given]);
    if (this.#failure !== null) throw this.#failure;
  }

  close(): void {
    for (const output of Object.values(this.#outputs)) output.abandon();
  }
}
