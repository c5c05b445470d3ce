/** Whether somebody uses a sandbox, and since when nobody does. */
import { type Clock, elapsedMs, type Moment } from "./clock.js";

interface ActivityParts {
  readonly clock: Clock;
  /** It runs, and no command runs in it. */
  readonly isQuiet: () => boolean;
  readonly onChange: () => void;
}

export class Activity {
  readonly #parts: ActivityParts;
  #uses = 0;
  #idleSince: Moment | null = null;

  constructor(parts: ActivityParts) {
    this.#parts = parts;
  }

  /** It counts as used until what is returned is called. */
  use(): () => void {
    this.#uses++;
    this.note();
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.#uses--;
      this.note();
    };
  }

  /** Something has changed that it depends on. */
  note(): void {
    if (this.#uses === 0 && this.#parts.isQuiet()) this.#idleSince ??= this.#parts.clock.now();
    else this.#idleSince = null;
    this.#parts.onChange();
  }

  /** Null while it is in use, or does not run. */
  idleMs(): number | null {
    return this.#idleSince === null ? null : elapsedMs(this.#idleSince, this.#parts.clock.now());
  }
}
