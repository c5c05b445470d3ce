/** The size of a terminal that several look at, and the program in it told to draw everything again. */
import type { TerminalSize } from "../../../core/exec.js";

/** A program that is told twice within this time may see only the second. */
const NUDGE_MS = 100;
const USUAL_SIZE: TerminalSize = { cols: 80, rows: 24 };

/** What fits into everybody's window; null where nobody has one. */
export function smallest(sizes: readonly (TerminalSize | null)[]): TerminalSize | null {
  const known = sizes.filter((size) => size !== null && size.cols > 0 && size.rows > 0) as readonly TerminalSize[];
  if (known.length === 0) return null;
  return { cols: Math.min(...known.map(({ cols }) => cols)), rows: Math.min(...known.map(({ rows }) => rows)) };
}

export class SharedWindow {
  readonly #apply: (size: TerminalSize) => void;
  #size: TerminalSize;
  #isKnown: boolean;
  #timer: NodeJS.Timeout | undefined;

  /** Where an earlier process set it last, it is not known. */
  constructor(size: TerminalSize | null, apply: (size: TerminalSize) => void) {
    this.#size = size ?? USUAL_SIZE;
    this.#isKnown = size !== null;
    this.#apply = apply;
  }

  get size(): TerminalSize {
    return this.#size;
  }

  /** True where it has surely changed, so that the program draws anew by itself. */
  set(size: TerminalSize): boolean {
    const wasKnown = this.#isKnown;
    if (wasKnown && size.cols === this.#size.cols && size.rows === this.#size.rows) return false;
    this.#size = size;
    this.#isKnown = true;
    // Another size is a nudge as well.
    this.close();
    this.#apply(size);
    return wasKnown;
  }

  /** The kernel tells a program of a size only where it is another one, so it gets another one for a moment. */
  nudge(): void {
    if (this.#timer !== undefined) return;
    const { cols, rows } = this.#size;
    this.#apply({ cols, rows: rows > 1 ? rows - 1 : rows + 1 });
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#apply(this.#size);
    }, NUDGE_MS);
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
