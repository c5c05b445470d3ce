/** Signals that mean "end this": passed on to the command, or, before there is one, to whoever is starting it. */
import { constants } from "node:os";

const ENDING = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"] as const;

export class EndingSignals {
  readonly #listener = (name: NodeJS.Signals) => this.#take(constants.signals[name]);
  #onSignal: (signal: number) => void;
  /** The first one that came. */
  first: number | null = null;

  constructor(onSignal: (signal: number) => void) {
    this.#onSignal = onSignal;
    for (const name of ENDING) process.on(name, this.#listener);
  }

  passTo(onSignal: (signal: number) => void): void {
    this.#onSignal = onSignal;
  }

  stop(): void {
    for (const name of ENDING) process.off(name, this.#listener);
  }

  #take(signal: number): void {
    this.first ??= signal;
    this.#onSignal(signal);
  }
}
