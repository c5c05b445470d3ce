/** Signals that mean "end this": passed on to the command, or, before there is one, to whoever is starting it. */
import { constants } from "node:os";
import type { SignalSource } from "../../invocation/index.js";

export class EndingSignals {
  #onSignal: (signal: number) => void;
  readonly #stop: () => void;
  /** The first one that came. */
  first: number | null = null;

  constructor(source: SignalSource, onSignal: (signal: number) => void) {
    this.#onSignal = onSignal;
    this.#stop = source.onEnding((name) => this.#take(constants.signals[name]));
  }

  passTo(onSignal: (signal: number) => void): void {
    this.#onSignal = onSignal;
  }

  stop(): void {
    this.#stop();
  }

  #take(signal: number): void {
    this.first ??= signal;
    this.#onSignal(signal);
  }
}
