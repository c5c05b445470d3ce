/** How often a caller may ask: a bucket of tokens for each, refilled as time goes by. */
import { AgentKernelError } from "../../core/errors.js";

interface Bucket {
  tokens: number;
  atMs: number;
  perMinute: number;
}

function mostTokens(perMinute: number): number {
  return Math.max(1, Math.ceil(perMinute / 6));
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
    const bucket = this.#bucket(caller, perMinute);
    if (bucket.tokens >= 1) {
      bucket.tokens--;
      return;
    }
    const waitS = Math.max(1, Math.ceil(((1 - bucket.tokens) / perMinute) * 60));
    throw new AgentKernelError("too_many_requests", `this caller may ask ${perMinute} times a minute`, {
      hint: `ask again in ${waitS} s`,
      details: { retry_after_s: waitS },
    });
  }

  /** For what a request turned out to hold beside itself: the next one waits for it. */
  owe(caller: string, perMinute: number | null, count: number): void {
    if (perMinute !== null) this.#bucket(caller, perMinute).tokens -= count;
  }

  #bucket(caller: string, perMinute: number): Bucket {
    const now = this.#now();
    const most = mostTokens(perMinute);
    const bucket = this.#buckets.get(caller) ?? { tokens: most, atMs: now, perMinute };
    bucket.tokens = Math.min(most, bucket.tokens + ((now - bucket.atMs) * perMinute) / 60_000);
    bucket.atMs = now;
    bucket.perMinute = perMinute;
    this.#buckets.set(caller, bucket);
    if (this.#buckets.size > SWEEP_AT) this.#sweep(now);
    return bucket;
  }

  #sweep(now: number): void {
    for (const [caller, { tokens, atMs, perMinute }] of this.#buckets) {
      const isFull = tokens + ((now - atMs) * perMinute) / 60_000 >= mostTokens(perMinute);
      if (isFull && now > atMs) this.#buckets.delete(caller);
    }
  }
}
