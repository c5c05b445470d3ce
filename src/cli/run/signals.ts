/** Signals that mean "end this": passed on to the command, or, before there is one, to whoever is starting it. */
import { constants } from "node:os";
import type { SignalSource } from "../../invocation/index.js";

export class EndingSignals {
  #onSignal: (signal: number) => void;
  readonly #source: SignalSource;
  readonly #stop: () => void;
  #stopKeeping = () => {};
  readonly #kept: number[] = [];
  #onCommandSignal = (signal: number): void => void this.#kept.push(signal);
  /** The first one that came. */
  first: number | null = null;

  constructor(source: SignalSource, onSignal: (signal: number) => void) {
    this.#source = source;
    this.#onSignal = onSignal;
    this.#stop = source.onEnding((name) => this.#take(constants.signals[name]));
  }

  passTo(onSignal: (signal: number) => void): void {
    this.#onSignal = onSignal;
  }

  /** Signals that are for the command alone: from now on they are kept until there is one. */
  keepCommandSignals(): void {
    this.#stopKeeping = this.#source.onCommandSignal((name) => this.#onCommandSignal(constants.signals[name]));
  }

  passCommandSignalsTo(onSignal: (signal: number) => void): void {
    this.#onCommandSignal = onSignal;
    for (const signal of this.#kept.splice(0)) onSignal(signal);
  }

  stop(): void {
    this.#stop();
    this.#stopKeeping();
  }

  #take(signal: number): void {
    this.first ??= signal;
    this.#onSignal(signal);
  }
}
