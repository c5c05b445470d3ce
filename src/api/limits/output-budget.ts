/**
 * How much output of commands is held in memory for answers, over all callers and of each. Room is taken while output
 * comes and given back when the answer was written; a command whose output finds no room loses what is beyond, and its
 * answer says how much.
 */
export interface OutputLimits {
  /** The limit of all callers together. */
  readonly outputBytes: number;
  readonly callerOutputBytes: number;
}

/** So much of all the results of one batch. */
export const BATCH_OUTPUT_BYTES = 64 << 20;

/** The share of one answer. */
export interface OutputRoom {
  /** False: there is no room for so much more, and nothing was taken. */
  readonly claim: (bytes: number) => boolean;
  /** All of it is free again. May be called more than once. */
  readonly release: () => void;
}

/** A share that several answers have together, and that does not come back. */
interface OutputShare {
  leftBytes: number;
}

export class OutputBudget {
  readonly #limits: OutputLimits;
  readonly #held = new Map<string, number>();
  #total = 0;

  constructor(limits: OutputLimits) {
    this.#limits = limits;
  }

  get heldBytes(): number {
    return this.#total;
  }

  open(caller: string, share: OutputShare = { leftBytes: Number.POSITIVE_INFINITY }): OutputRoom {
    let claimed = 0;
    return {
      claim: (bytes) => {
        const own = this.#held.get(caller) ?? 0;
        const { outputBytes, callerOutputBytes } = this.#limits;
        const fits = own + bytes <= callerOutputBytes && this.#total + bytes <= outputBytes;
        if (!fits || bytes > share.leftBytes) return false;
        claimed += bytes;
        share.leftBytes -= bytes;
        this.#hold(caller, own + bytes, bytes);
        return true;
      },
      release: () => {
        this.#hold(caller, (this.#held.get(caller) ?? 0) - claimed, -claimed);
        claimed = 0;
      },
    };
  }

  #hold(caller: string, own: number, change: number): void {
    this.#total += change;
    if (own > 0) this.#held.set(caller, own);
    else this.#held.delete(caller);
  }
}
