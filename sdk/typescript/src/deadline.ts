/** Ends a request: when its time is over, or when the caller says so. */
import { RequestTimeoutError } from "./errors.js";

export class Deadline implements Disposable {
  readonly #controller = new AbortController();
  readonly #outer: AbortSignal | undefined;
  readonly #onOuter = (): void => this.#controller.abort(this.#outer?.reason);
  readonly #timeoutMs: number;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(timeoutMs: number, outer: AbortSignal | undefined) {
    this.#timeoutMs = timeoutMs;
    this.#outer = outer;
    if (outer?.aborted === true) this.#onOuter();
    else outer?.addEventListener("abort", this.#onOuter);
    this.restart();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Something came; the time counts from now. */
  restart(): void {
    clearTimeout(this.#timer);
    if (!Number.isFinite(this.#timeoutMs)) return;
    const late = () => this.#controller.abort(new RequestTimeoutError(`no answer within ${this.#timeoutMs} ms`));
    this.#timer = setTimeout(late, Math.min(this.#timeoutMs, 0x7fffffff));
  }

  /** Resolves after so long; rejects when the request ends before. */
  pause(ms: number): Promise<void> {
    const { signal } = this;
    return new Promise((resolve, reject) => {
      if (signal.aborted) reject(signal.reason);
      const timer = setTimeout(resolve, ms);
      signal.addEventListener("abort", () => {
        clearTimeout(timer);
        reject(signal.reason);
      });
    });
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#outer?.removeEventListener("abort", this.#onOuter);
  }
}
