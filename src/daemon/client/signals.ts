/** Signals that a client was sent, for whoever listens on its behalf. */
import { constants } from "node:os";
import { type EndingSignal, endingSignals, type SignalSource } from "../../invocation/index.js";

export class ClientSignals implements SignalSource {
  readonly #ending = new Set<(name: EndingSignal) => void>();
  readonly #pausing = new Set<(isPaused: boolean) => void>();

  onEnding(listener: (name: EndingSignal) => void): () => void {
    this.#ending.add(listener);
    return () => this.#ending.delete(listener);
  }

  onPause(listener: (isPaused: boolean) => void): () => void {
    this.#pausing.add(listener);
    return () => this.#pausing.delete(listener);
  }

  /** False: nobody listens, and the signal has its usual effect. */
  deliver(signal: number): boolean {
    const { SIGTSTP, SIGCONT } = constants.signals;
    if (signal === SIGTSTP || signal === SIGCONT) {
      for (const listener of [...this.#pausing]) listener(signal === SIGTSTP);
      return true;
    }
    const name = endingSignals.find((known) => constants.signals[known] === signal);
    if (name === undefined) throw new RangeError(`a client passes on the unknown signal ${signal}`);
    for (const listener of [...this.#ending]) listener(name);
    return this.#ending.size > 0;
  }
}
