/** How often a caller may ask: a bucket of tokens for each, refilled as time goes by. */
import { AgentKernelError } from "../../core/errors.js";

interface Bucket {
  tokens: number;
  atMs: number;
}

/** A bucket that is full says nothing; so many are remembered before full ones are forgotten. */
const SWEEP_AT = 1000;

export class RateLimiter {
  readonly #buckets = new Map<string, Bucket>();
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Throws `too_many_requests` with when to come again. A sixth of a minute's share may come at once. */
  take(caller: string, perMinute: number | null): void {
    if (perMinute === null) return;
    const now = this.#now();
    const most = Math.max(1, Math.ceil(perMinute / 6));
    const perMs = perMinute / 60_000;
    const bucket = this.#buckets.get(caller) ?? { tokens: most, atMs: now };
    bucket.tokens = Math.min(most, bucket.tokens + (now - bucket.atMs) * perMs);
    bucket.atMs = now;
    this.#buckets.set(caller, bucket);
    if (this.#buckets.size > SWEEP_AT) this.#sweep(now);
    if (bucket.tokens >= 1) {
      bucket.tokens--;
      return;
    }
    const waitS = Math.max(1, Math.ceil((1 - bucket.tokens) / perMs / 1000));
    throw new AgentKernelError("too_many_requests", `this caller may ask ${perMinute} times a minute`, {
      hint: `ask again in ${waitS} s`,
      details: { retry_after_s: waitS },
    });
  }

  #sweep(now: number): void {
    for (const [caller, { atMs }] of this.#buckets) {
      if (now - atMs > 60_000) this.#buckets.delete(caller);
    }
  }
}
