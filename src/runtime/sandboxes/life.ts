/**
 * How long sandboxes live. One whose time to live has run out is removed; one that was idle for too long is stopped. A
 * clock that is set has no say while the machine is up; after a reboot, when only the wall clock can tell how much time
 * has passed and may itself be wrong for a while, nothing is removed in the first minutes.
 */
import { elapsedMs, type Moment } from "./clock.js";

/** After a reboot a clock may be set late. */
export const REBOOT_GRACE_MS = 10 * 60_000;
/** Timers do not run while the machine sleeps. */
const LOOK_AGAIN_MS = 5 * 60_000;
/** What could not be done is tried again. */
const RETRY_MS = 60_000;
/** One whose end changed nothing must not keep the process from everything else. */
const BREATH_MS = 50;

/** As much of a sandbox as its end depends on. */
export interface Mortal {
  readonly name: string;
  summary(): { readonly ttlLeftMs: number | null };
  idleLeftMs(): number | null;
  stopIfIdle(): Promise<void>;
  remove(options: { readonly force: boolean }): Promise<void>;
}

interface LifeParts {
  readonly sandboxes: () => readonly Mortal[];
  readonly say: (line: string) => void;
}

/** What is left of a time to live. `knownSince`: when this process first looked. */
export function ttlLeftMs(ttlMs: number, from: Moment, now: Moment, knownSince: Moment): number {
  const left = Math.max(0, ttlMs - elapsedMs(from, now));
  if (from.bootId === now.bootId) return left;
  return Math.max(left, REBOOT_GRACE_MS - elapsedMs(knownSince, now), 0);
}

export class Lives {
  readonly #parts: LifeParts;
  readonly #busy = new Set<Mortal>();
  #timer: NodeJS.Timeout | undefined;
  #soon: NodeJS.Immediate | undefined;
  #isClosed = false;

  constructor(parts: LifeParts) {
    this.#parts = parts;
  }

  /** Something has changed that may make an end come sooner, or later. */
  look(): void {
    if (this.#isClosed) return;
    clearTimeout(this.#timer);
    let soonestMs = Number.POSITIVE_INFINITY;
    for (const sandbox of this.#parts.sandboxes()) {
      if (!this.#busy.has(sandbox)) soonestMs = Math.min(soonestMs, this.#judge(sandbox));
    }
    if (soonestMs === Number.POSITIVE_INFINITY) return;
    this.#timer = setTimeout(() => this.look(), Math.min(soonestMs + 1, LOOK_AGAIN_MS));
    this.#timer.unref();
  }

  /** The same, once for all that changes in this turn, and after whoever waits for it. */
  lookSoon(): void {
    this.#soon ??= setImmediate(() => {
      this.#soon = undefined;
      this.look();
    });
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    clearImmediate(this.#soon);
  }

  /** How long until it is to be looked at again. */
  #judge(sandbox: Mortal): number {
    const left = sandbox.summary().ttlLeftMs ?? Number.POSITIVE_INFINITY;
    const idleLeft = sandbox.idleLeftMs() ?? Number.POSITIVE_INFINITY;
    if (left <= 0) this.#act(sandbox, "its time to live ran out", () => sandbox.remove({ force: true }));
    else if (idleLeft <= 0) this.#act(sandbox, "it was idle for too long", () => sandbox.stopIfIdle());
    else return Math.min(left, idleLeft);
    return Number.POSITIVE_INFINITY;
  }

  #act(sandbox: Mortal, why: string, end: () => Promise<void>): void {
    this.#busy.add(sandbox);
    this.#parts.say(`${sandbox.name}: ${why}`);
    void end()
      .catch(async (error: unknown) => {
        this.#parts.say(`${sandbox.name} could not be ended: ${String(error)}`);
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS).unref());
      })
      .finally(() => {
        this.#busy.delete(sandbox);
        setTimeout(() => this.look(), BREATH_MS).unref();
      });
  }
}
