/**
 * Looks, while something goes on for a caller, whether the caller may still ask for it. A key can be revoked by another
 * process and a token runs out by itself, so this asks again every so often; nothing is asked while nothing goes on.
 */
import type { Caller } from "./caller.js";

const LOOK_MS = 1000;

type Watched = { readonly caller: Caller; readonly end: () => void };

export class KeyWatch {
  readonly #isValid: (caller: Caller) => boolean;
  readonly #lookMs: number;
  readonly #watched = new Set<Watched>();
  #timer: NodeJS.Timeout | null = null;

  constructor(isValid: (caller: Caller) => boolean, lookMs: number = LOOK_MS) {
    this.#isValid = isValid;
    this.#lookMs = lookMs;
  }

  /** `end` is called once, when the caller is not valid any more. Returns how to stop looking. */
  add(caller: Caller, end: () => void): () => void {
    const one = { caller, end };
    this.#watched.add(one);
    this.#timer ??= setInterval(() => this.#look(), this.#lookMs).unref();
    return () => {
      this.#watched.delete(one);
    };
  }

  /** Where it cannot be known, whoever asks anew is not let in either. */
  #ask(caller: Caller): boolean {
    try {
      return this.#isValid(caller);
    } catch {
      return false;
    }
  }

  #look(): void {
    // Kept for one look more than needed: most requests are over long before, and need no timer of their own.
    if (this.#watched.size === 0 && this.#timer !== null) {
      clearInterval(this.#timer);
      this.#timer = null;
    }
    const answers = new Map<string, boolean>();
    for (const one of [...this.#watched]) {
      const isValid = answers.get(one.caller.id) ?? this.#ask(one.caller);
      // Tokens of one person run out at different times.
      if (one.caller.validUntilMs === undefined) answers.set(one.caller.id, isValid);
      if (isValid) continue;
      this.#watched.delete(one);
      one.end();
    }
  }
}
