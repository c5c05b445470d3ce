/** Attempts with growing pauses. Only failures that say they may pass are tried again. */
import { setTimeout as pause } from "node:timers/promises";
import { TransientFailure } from "./failures.js";

export interface RetryRules {
  readonly attempts: number;
  readonly firstPauseMs: number;
  readonly maxPauseMs: number;
  /** A registry that asks for a longer pause than this is not waited for. */
  readonly maxServerPauseMs: number;
}

export const defaultRetryRules: RetryRules = {
  attempts: 5,
  firstPauseMs: 500,
  maxPauseMs: 8_000,
  maxServerPauseMs: 20_000,
};

export interface Attempts {
  /** The work got further: earlier failures no longer count. */
  progressed(): void;
}

export async function withRetries<T>(
  rules: RetryRules,
  signal: AbortSignal | undefined,
  work: (attempts: Attempts) => Promise<T>,
): Promise<T> {
  let failures = 0;
  const attempts: Attempts = {
    progressed: () => {
      failures = 0;
    },
  };
  for (;;) {
    try {
      return await work(attempts);
    } catch (error) {
      signal?.throwIfAborted();
      if (!(error instanceof TransientFailure)) throw error;
      failures += 1;
      const asked = error.retryAfterMs ?? 0;
      if (failures >= rules.attempts || asked > rules.maxServerPauseMs) throw error.failure;
      await pauseFor(Math.max(asked, pauseMs(rules, failures)), signal);
    }
  }
}

async function pauseFor(ms: number, signal: AbortSignal | undefined): Promise<void> {
  try {
    await pause(ms, undefined, signal === undefined ? {} : { signal });
  } catch (error) {
    // The reason that the caller gave says more than that the pause was cut.
    signal?.throwIfAborted();
    throw error;
  }
}

/** Doubles each time; half of it by chance, so that many clients do not come back at once. */
export function pauseMs(rules: RetryRules, failures: number, random: () => number = Math.random): number {
  const full = Math.min(rules.firstPauseMs * 2 ** (failures - 1), rules.maxPauseMs);
  return full / 2 + (full / 2) * random();
}

/** `Retry-After` in either of its forms. */
export function retryAfterMs(header: string | undefined, nowMs: number): number | null {
  if (header === undefined) return null;
  if (/^\s*\d{1,9}\s*$/.test(header)) return Number(header) * 1000;
  const at = Date.parse(header);
  return Number.isNaN(at) ? null : Math.max(0, at - nowMs);
}
