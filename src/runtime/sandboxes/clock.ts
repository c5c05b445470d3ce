/**
 * Time, for what must outlive processes and clocks that are set. Within one boot only the time since boot counts, which
 * nobody can set and which goes on while the machine sleeps; across boots there is only the wall clock.
 */
import { readFileSync } from "node:fs";
import { uptime } from "node:os";

export interface Moment {
  readonly wallMs: number;
  readonly bootMs: number;
  readonly bootId: string;
}

export interface Clock {
  now(): Moment;
}

export function systemClock(): Clock {
  const bootId = readFileSync("/proc/sys/kernel/random/boot_id", "latin1").trim();
  return { now: () => ({ wallMs: Date.now(), bootMs: Math.round(uptime() * 1000), bootId }) };
}

/** How much later `later` is; a wall clock that was set back counts as no time. */
export function elapsedMs(earlier: Moment, later: Moment): number {
  const sameBoot = earlier.bootId === later.bootId;
  return Math.max(0, sameBoot ? later.bootMs - earlier.bootMs : later.wallMs - earlier.wallMs);
}
