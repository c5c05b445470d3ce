/** Signals that a client was sent, for whoever listens on its behalf. */
import { constants } from "node:os";
import {
  type CommandSignal,
  commandSignals,
  type EndingSignal,
  endingSignals,
  type SignalSource,
} from "../../invocation/index.js";

export class ClientSignals implements SignalSource {
  readonly #ending = new Set<(name: EndingSignal) => void>();
  readonly #ofCommand = new Set<(name: CommandSignal) => void>();
  readonly #pausing = new Set<(isPaused: boolean) => void>();

  onEnding(listener: (name: EndingSignal) => void): () => void {
    this.#ending.add(listener);
    return () => this.#ending.delete(listener);
  }

  onCommandSignal(listener: (name: CommandSignal) => void): () => void {
    this.#ofCommand.add(listener);
    return () => this.#ofCommand.delete(listener);
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
    const forCommand = commandSignals.find((known) => constants.signals[known] === signal);
    if (forCommand !== undefined) {
      for (const listener of [...this.#ofCommand]) listener(forCommand);
      return this.#ofCommand.size > 0;
    }
    const name = endingSignals.find((known) => constants.signals[known] === signal);
    if (name === undefined) throw new RangeError(`a client passes on the unknown signal ${signal}`);
    for (const listener of [...this.#ending]) listener(name);
    return this.#ending.size > 0;
  }
}
