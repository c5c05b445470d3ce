/**
 * Whether a guest is still there. One that has been silent for long is asked for a sign of life; whatever it says then,
 * or said of its own, is one. A guest in a kernel of its own can stop for ever without its stream ending.
 */
import type { HeartbeatTiming } from "../core/heartbeat-timing.js";

/** A timer that fires so much later than it was set for says that this process had no time itself. */
const LATE_MS = 2000;

export class Heartbeat {
  readonly #heartbeat: HeartbeatTiming;
  readonly #ask: () => void;
  readonly #giveUp: () => void;
  #timer: NodeJS.Timeout | undefined;
  #hasHeard = false;
  #isProbed = false;
  #isExcused = false;

  constructor(heartbeat: HeartbeatTiming, { ask, giveUp }: { readonly ask: () => void; readonly giveUp: () => void }) {
    this.#heartbeat = heartbeat;
    this.#ask = ask;
    this.#giveUp = giveUp;
    this.#wait(heartbeat.quietMs, () => this.#isQuiet());
  }

  heard(): void {
    this.#hasHeard = true;
  }

  /** The answer to a question. False where none was asked. */
  answered(): boolean {
    const wasProbed = this.#isProbed;
    this.#isProbed = false;
    return wasProbed;
  }

  /** It is held still, and cannot answer. */
  excuse(): void {
    this.#isExcused = true;
  }

  expect(): void {
    this.#isExcused = false;
    this.#startOver();
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  #startOver(): void {
    this.stop();
    this.#hasHeard = false;
    this.#wait(this.#heartbeat.quietMs, () => this.#isQuiet());
  }

  #isQuiet(): void {
    if (this.#hasHeard || this.#isExcused) {
      this.#startOver();
      return;
    }
    // One question is enough: it is still there for whoever was held still when it came.
    if (!this.#isProbed) {
      this.#isProbed = true;
      this.#ask();
    }
    this.#wait(this.#heartbeat.patienceMs, (isLate) => {
      if (this.#hasHeard || this.#isExcused || isLate) this.#startOver();
      else this.#giveUp();
    });
  }

  /** It holds nobody up who wants to end. */
  #wait(ms: number, then: (isLate: boolean) => void): void {
    const until = performance.now() + ms;
    this.#timer = setTimeout(() => then(performance.now() > until + LATE_MS), ms).unref();
  }
}
