/** Limits of one sandbox's gateway. Each gateway has its own, so that no sandbox lives on another's share. */

import { numericDefaults } from "../settings/index.js";

export interface GatewayLimits {
  /** `max_connections`: connections at once, including those still being decided or dialled. */
  readonly connections: number;
  /** Dials at once; further ones wait their turn within `dialMs`. */
  readonly halfOpenDials: number;
  readonly lookups: number;
  /** One HTTP head, of a request that is checked or proxied. */
  readonly headBytes: number;
  /** One ClientHello, with the framing of its records. */
  readonly helloBytes: number;
  /** Unfinished heads and ClientHellos of all connections together. */
  readonly heldBytes: number;
  /** From the first byte of a head or ClientHello, or of a proxy's greeting, to its last. */
  readonly handshakeMs: number;
  readonly lookupMs: number;
  /** All addresses of one connection together. */
  readonly dialMs: number;
  /** A connection on which nothing moves in either direction. */
  readonly idleMs: number;
  readonly askMs: number;
  readonly questions: number;
}

export const defaultLimits: GatewayLimits = {
  connections: numericDefaults["resources.maxConnections"],
  halfOpenDials: 256,
  lookups: 256,
  headBytes: 65_536,
  helloBytes: 65_536,
  heldBytes: 8 * 1024 * 1024,
  handshakeMs: 15_000,
  lookupMs: 10_000,
  dialMs: 20_000,
  idleMs: 3_600_000,
  askMs: 60_000,
  questions: 32,
};

/** A number of bytes or of things that may be held at once. */
export class Allowance {
  #left: number;

  constructor(readonly total: number) {
    this.#left = total;
  }

  get used(): number {
    return this.total - this.#left;
  }

  take(amount: number): boolean {
    if (amount > this.#left) return false;
    this.#left -= amount;
    return true;
  }

  give(amount: number): void {
    this.#left += amount;
  }
}

/** Things that happen so many at a time, the others in the order in which they came. */
export class Turns {
  #free: number;
  readonly #waiting: Set<() => void> = new Set();

  constructor(atOnce: number) {
    this.#free = atOnce;
  }

  /** Resolves with what gives the turn back; rejects where the signal comes first. */
  take(signal: AbortSignal): Promise<() => void> {
    return new Promise((resolve, reject) => {
      signal.throwIfAborted();
      const abort = () => {
        this.#waiting.delete(start);
        reject(signal.reason);
      };
      const start = () => {
        signal.removeEventListener("abort", abort);
        this.#free--;
        let held = true;
        resolve(() => {
          if (!held) return;
          held = false;
          this.#free++;
          this.#next();
        });
      };
      signal.addEventListener("abort", abort, { once: true });
      this.#waiting.add(start);
      this.#next();
    });
  }

  #next(): void {
    if (this.#free <= 0) return;
    const [start] = this.#waiting;
    if (start === undefined) return;
    this.#waiting.delete(start);
    start();
  }
}
