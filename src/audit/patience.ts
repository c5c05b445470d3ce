/**
 * How long one waits for whoever has the turn. Only what that holder lets pass counts: in a crowd the wait is long while
 * each has the turn for a moment, and nobody is to be passed over who has only just come to it.
 */
import { isSameTurn, type TurnHolder } from "./turn-holder.js";

/** Turns last a fraction of a millisecond, so these are long; then the turn is taken from whoever has it. */
const STOPPED_HOLDER_MS = 2000;
const SILENT_HOLDER_MS = 10_000;

/** Who looks this seldom was held up, and the holder most likely with it. */
const MOST_BETWEEN_LOOKS_MS = 50;

export class Patience {
  #holder: TurnHolder | null = null;
  #waitedMs = 0;
  #lookedAtMs = 0;

  /** To be asked at every look; whether the holder that was seen may be passed over. */
  isOver(seen: TurnHolder, nowMs: number): boolean {
    const isSame = this.#holder !== null && isSameTurn(this.#holder, seen);
    this.#waitedMs = isSame ? this.#waitedMs + Math.min(nowMs - this.#lookedAtMs, MOST_BETWEEN_LOOKS_MS) : 0;
    this.#holder = seen;
    this.#lookedAtMs = nowMs;
    return this.#waitedMs > (seen.state === "running" ? SILENT_HOLDER_MS : STOPPED_HOLDER_MS);
  }
}
