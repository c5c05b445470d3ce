/** A small memory of what names resolve to. Only allowed names get here. */
import { type Address, parseAddress } from "../../core/address/address.js";
import type { Resolve } from "./resolve.js";

const MAX_NAMES = 512;
const MAX_ADDRESSES = 32;
const DEFAULT_TTL_MS = 10_000;
const MAX_TTL_MS = 60_000;
const NOT_FOUND_TTL_MS = 2_000;

interface Entry {
  readonly addresses: Promise<readonly Address[]>;
  /** Infinity while the question is on its way. */
  expiresMs: number;
}

/** Answers are kept for a short while, and one question is on its way per name. */
export class NameCache {
  readonly #resolve: Resolve;
  readonly #closed: AbortSignal;
  readonly #entries = new Map<string, Entry>();

  /** `closed`: nothing is asked any more, and what is on its way is given up. */
  constructor(resolve: Resolve, closed: AbortSignal) {
    this.#resolve = resolve;
    this.#closed = closed;
  }

  addresses(name: string): Promise<readonly Address[]> {
    const known = this.#entries.get(name);
    if (known !== undefined && known.expiresMs > Date.now()) return known.addresses;
    const entry: Entry = { addresses: this.#ask(name), expiresMs: Number.POSITIVE_INFINITY };
    this.#entries.delete(name);
    this.#entries.set(name, entry);
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= MAX_NAMES) break;
      this.#entries.delete(oldest);
    }
    return entry.addresses;
  }

  async #ask(name: string): Promise<readonly Address[]> {
    // Runs on after the entry is stored.
    await null;
    const entry = this.#entries.get(name);
    try {
      const { addresses, ttlMs } = await this.#resolve(name, this.#closed);
      const parsed = addresses.flatMap((text) => parseAddress(text) ?? []).slice(0, MAX_ADDRESSES);
      const lifeMs = parsed.length === 0 ? NOT_FOUND_TTL_MS : Math.min(ttlMs ?? DEFAULT_TTL_MS, MAX_TTL_MS);
      if (entry !== undefined) entry.expiresMs = Date.now() + lifeMs;
      return [...new Map(parsed.map((address) => [address.text, address])).values()];
    } catch (error) {
      if (entry !== undefined) entry.expiresMs = 0;
      throw error;
    }
  }
}
