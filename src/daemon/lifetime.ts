/**
 * How long a daemon stays. One that the user started stays until it is stopped, unless a time was named; one that a
 * command line started because it needed it ends when it has owned nothing for a while.
 */
export interface Stay {
  /** Started by a command line that needed it. */
  readonly onDemand: boolean;
  /** Ends after so long with nothing to do and nothing to own; null: never. */
  readonly idleTimeoutMs: number | null;
}

interface LifetimeParts {
  /** Current work and resources, a phrase each; the daemon does not end while there is any. */
  readonly heldBy: () => readonly string[];
  readonly end: (why: string) => void;
}

export class Lifetime {
  #stay: Stay;
  readonly #parts: LifetimeParts;
  #timer: NodeJS.Timeout | undefined;
  #isOver = false;

  constructor(stay: Stay, parts: LifetimeParts) {
    this.#stay = stay;
    this.#parts = parts;
  }

  get stay(): Stay {
    return this.#stay;
  }

  /** Whatever is being waited for begins anew. */
  change(stay: Stay): void {
    this.#stay = stay;
    this.look();
  }

  /** To be called when something began or ended. */
  look(): void {
    clearTimeout(this.#timer);
    const { idleTimeoutMs } = this.#stay;
    if (this.#isOver || idleTimeoutMs === null || this.#parts.heldBy().length > 0) return;
    this.#timer = setTimeout(() => this.#parts.end(this.#why()), idleTimeoutMs);
  }

  /** It ends anyway. */
  over(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
  }

  #why(): string {
    return this.#stay.onDemand ? "nothing was left to own" : "nothing was asked of it for a while";
  }
}
