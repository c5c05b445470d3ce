/** Names to addresses: the system's way of doing it, and a small memory of the answers. Only allowed names get here. */
import { lookup } from "node:dns/promises";
import { type Address, parseAddress } from "../core/address/address.js";
import { Turns } from "./limits.js";

export interface ResolvedName {
  /** Empty: there is no such name, or it has no address. */
  readonly addresses: readonly string[];
  readonly ttlMs?: number;
}

export type Resolve = (name: string) => Promise<ResolvedName>;

/** Each system lookup holds a thread of Node's small pool, which file operations need too. */
const SYSTEM_LOOKUPS_AT_ONCE = 2;
const NO_ADDRESS = new Set(["ENOTFOUND", "ENODATA", "EAI_NODATA", "EAI_NONAME"]);

/** As every program of the user's resolves: hosts file, name services, DNS. Gateways may share one. */
export function systemResolver(): Resolve {
  const turns = new Turns(SYSTEM_LOOKUPS_AT_ONCE);
  const never = new AbortController().signal;
  return async (name) => {
    const giveBack = await turns.take(never);
    try {
      const found = await lookup(name, { all: true, order: "verbatim" });
      return { addresses: found.map((one) => one.address) };
    } catch (error) {
      if (error instanceof Error && "code" in error && NO_ADDRESS.has(String(error.code))) return { addresses: [] };
      throw error;
    } finally {
      giveBack();
    }
  };
}

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
  readonly #entries = new Map<string, Entry>();

  constructor(resolve: Resolve) {
    this.#resolve = resolve;
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
      const { addresses, ttlMs } = await this.#resolve(name);
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
