/** A sink that is pulled from: output as an async iterable of chunks that belong to whoever iterates. */
import { Buffer } from "node:buffer";
import type { AgentKernelError } from "../core/errors.js";
import type { OutputSink } from "./inbound-stream.js";

export class ChunkSource implements OutputSink {
  readonly #waiting: { readonly chunk: Buffer; readonly done: () => void }[] = [];
  #over = false;
  #discarding = false;
  #error: AgentKernelError | undefined;
  #wake: (() => void) | null = null;

  write(chunk: Buffer, done: () => void): void {
    if (this.#discarding) {
      done();
      return;
    }
    this.#waiting.push({ chunk, done });
    this.#wake?.();
  }

  end(error?: AgentKernelError): void {
    this.#over = true;
    this.#error ??= error;
    this.#wake?.();
  }

  /** Why the stream will end early, known before its end is. */
  fail(error: AgentKernelError): void {
    this.#error ??= error;
  }

  /** Lets go of everything that came and will come. */
  discard(): void {
    this.#discarding = true;
    for (const { done } of this.#waiting.splice(0)) done();
  }

  async *chunks(): AsyncGenerator<Buffer, void, void> {
    while (true) {
      const next = this.#waiting.shift();
      if (next) {
        const chunk = Buffer.from(next.chunk);
        next.done();
        yield chunk;
      } else if (this.#over) {
        if (this.#error) throw this.#error;
        return;
      } else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
        this.#wake = null;
      }
    }
  }
}
