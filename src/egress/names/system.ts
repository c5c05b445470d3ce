/**
 * Names to addresses as programs of this machine get them: the hosts file, then its name servers, with its search list.
 * Asked without a thread, so that slow answers hold up nobody else's; each sandbox has one of its own, and its questions
 * end with it. Names of the local link (`.local`) are the one exception: only the system's own libraries know them.
 */
import { lookup, Resolver } from "node:dns/promises";
import { readFile } from "node:fs/promises";
import { networkInterfaces } from "node:os";
import { EgressFailure } from "../failure.js";
import { Turns } from "../limits.js";
import { HostsFile, versionOf } from "./hosts-file.js";
import type { Resolve, ResolvedName } from "./resolve.js";
import { fullNames, parseSearchList, type SearchList } from "./search-list.js";

const RESOLV_CONF = "/etc/resolv.conf";
const QUERY = { timeout: 2000, tries: 2 } as const;
/** Shorter lives than this are for balancing load, which a sandbox has no share in. */
const LEAST_TTL_MS = 5000;
const NO_ADDRESS = new Set(["ENOTFOUND", "ENODATA", "EAI_NODATA", "EAI_NONAME"]);
const LOCALHOST: ResolvedName = { addresses: ["127.0.0.1", "::1"] };

/** Each of these holds a thread of Node's small pool, which file operations need too. */
const localLinkTurns = new Turns(1);

const hostsFile = new HostsFile();

export function systemResolver(): Resolve {
  const servers = new NameServers();
  return async (name, signal) => {
    signal.throwIfAborted();
    const listed = await hostsFile.addresses(name);
    if (listed.length > 0) return { addresses: listed };
    if (/^(.+\.)?localhost$/i.test(name)) return LOCALHOST;
    if (/\.local$/i.test(name)) return await onLocalLink(name, signal);
    return await servers.ask(name, signal);
  };
}

/** The name servers of this machine, as its configuration names them now. */
class NameServers {
  #version: string | null | undefined;
  #resolver = new Resolver(QUERY);
  #search: SearchList = { domains: [], dots: 1 };

  async ask(name: string, signal: AbortSignal): Promise<ResolvedName> {
    await this.#refresh();
    const resolver = this.#resolver;
    const cancel = () => resolver.cancel();
    signal.addEventListener("abort", cancel, { once: true });
    try {
      return await firstFound(name, fullNames(name, this.#search), async (full) => {
        signal.throwIfAborted();
        return await bothFamilies(resolver, full);
      });
    } finally {
      signal.removeEventListener("abort", cancel);
    }
  }

  async #refresh(): Promise<void> {
    const version = await versionOf(RESOLV_CONF);
    if (version === this.#version) return;
    // One that was made reads the configuration; questions that are on their way go on with the one before.
    this.#resolver = new Resolver(QUERY);
    this.#search = version === null ? { domains: [], dots: 1 } : parseSearchList(await readFile(RESOLV_CONF, "latin1"));
    this.#version = version;
  }
}

/** A domain of the search list whose servers give no answer does not stand before the name itself. */
export async function firstFound(
  name: string,
  all: readonly string[],
  ask: (full: string) => Promise<ResolvedName>,
): Promise<ResolvedName> {
  let failure: unknown = null;
  for (const full of all) {
    try {
      const found = await ask(full);
      if (found.addresses.length > 0) return found;
    } catch (error) {
      if (full === name || !(error instanceof EgressFailure)) throw error;
      failure ??= error;
    }
  }
  if (failure !== null) throw failure;
  return { addresses: [] };
}

interface LookupReply {
  readonly address: string;
  readonly ttl: number;
}

async function bothFamilies(resolver: Resolver, name: string): Promise<ResolvedName> {
  const [ipv4, ipv6] = await Promise.allSettled([
    resolver.resolve4(name, { ttl: true }),
    resolver.resolve6(name, { ttl: true }),
  ]);
  const [four, six] = [answersOf(ipv4), answersOf(ipv6)];
  const found = reachesIpv6() ? [...six.answers, ...four.answers] : [...four.answers, ...six.answers];
  const failure = four.failure ?? six.failure;
  // What one family has is enough: some name servers never answer for the other.
  if (found.length === 0 && failure !== null) throw failure;
  const ttlMs = Math.max(LEAST_TTL_MS, Math.min(...found.map(({ ttl }) => ttl)) * 1000);
  return { addresses: found.map(({ address }) => address), ...(found.length === 0 ? {} : { ttlMs }) };
}

function answersOf(result: PromiseSettledResult<readonly LookupReply[]>): {
  readonly answers: readonly LookupReply[];
  readonly failure: EgressFailure | null;
} {
  if (result.status === "fulfilled") return { answers: result.value, failure: null };
  const code = codeOf(result.reason);
  if (NO_ADDRESS.has(code)) return { answers: [], failure: null };
  const kind = code === "ETIMEOUT" ? "timed_out" : "failed";
  return { answers: [], failure: new EgressFailure(kind, `the name servers gave no answer (${code})`) };
}

/** Whether addresses of that family are worth trying first. */
function reachesIpv6(): boolean {
  return Object.values(networkInterfaces()).some((addresses) =>
    addresses?.some(({ family, internal, address }) => family === "IPv6" && !internal && !/^fe[89ab]/i.test(address)),
  );
}

async function onLocalLink(name: string, signal: AbortSignal): Promise<ResolvedName> {
  const giveBack = await localLinkTurns.take(signal);
  try {
    const found = await lookup(name, { all: true, order: "verbatim" });
    return { addresses: found.map(({ address }) => address) };
  } catch (error) {
    if (NO_ADDRESS.has(codeOf(error))) return { addresses: [] };
    throw error;
  } finally {
    giveBack();
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}
