/**
 * That a caller is gone, and nobody waits for an answer any more. A plain list of listeners: every run has one, and a
 * signal of Node's takes longer to make than most of what a run does. Who needs such a signal has it made.
 */
export class Departure {
  #listeners: (() => void)[] = [];
  #controller: AbortController | null = null;
  #isGone = false;

  get isGone(): boolean {
    return this.#isGone;
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#isGone) this.#controller.abort();
    return this.#controller.signal;
  }

  /** Called once; at once where the caller is gone already. */
  onGone(listener: () => void): void {
    if (this.#isGone) listener();
    else this.#listeners.push(listener);
  }

  happen(): void {
    if (this.#isGone) return;
    this.#isGone = true;
    const listeners = this.#listeners;
    this.#listeners = [];
    for (const listener of listeners) listener();
    this.#controller?.abort();
  }
}
