/**
 * From a destination to a connected socket, in the one order that is safe: policy on what was asked, the user's
 * approval where nothing covers it, resolution, policy on every address, and a dial of exactly those addresses.
 */
import type { Socket } from "node:net";
import { type Address, parseAddress } from "../core/address/address.js";
import type { NameFamilies, OutgoingRefusal, OutgoingTarget } from "../core/egress.js";
import { proxyAddress } from "../core/proxy-address.js";
import type { Approvals } from "./approval.js";
import { DecisionRecord, type EgressDecision, type Via } from "./decision.js";
import { type Dial, type Dialled, dialFirst } from "./dial.js";
import { EgressFailure, failureOf, refusal } from "./failure.js";
import { authorityText, type Host, hostText, type InvalidHost, isPort, parseHost, shown } from "./host.js";
import { type GatewayLimits, Turns } from "./limits.js";
import type { NameCache } from "./names/cache.js";
import { refuseOwnListener, refuseOwnPort } from "./own-listeners.js";
import type { Expectation } from "./peek/expectation.js";
import type { Rules, Verdict } from "./rules.js";
import type { BoundSecret } from "./secrets/bound-secret.js";
import { PlaceholderWatch } from "./secrets/placeholder-watch.js";
import { type UpstreamProxy, type UpstreamSettings, upstreamFor } from "./upstream/settings.js";
import { openTunnel } from "./upstream/tunnel.js";

interface OpenerOptions {
  readonly sandbox: string;
  readonly limits: GatewayLimits;
  readonly dial: Dial;
  readonly names: NameCache;
  readonly approvals: Approvals | null;
  readonly upstream: UpstreamSettings | null;
  /** As they are at this moment; a text where the policy cannot be used, which denies everything. */
  rules(): Rules | string;
  hostAddresses(): readonly string[];
  onDecision(decision: EgressDecision): void;
  /** All of the sandbox's, whatever they are bound to. */
  readonly secrets: readonly BoundSecret[];
}

/** Asking the system for its interfaces costs more than all else of a decision, and they seldom change. */
const OWN_ADDRESSES_MS = 1_000;

/** To a sandbox: the log has the address, which may be one of the host's own network. */
const RESOLVES_ELSEWHERE = "it resolves to an address that is not allowed";

/** Who named the address itself learns nothing from the reason. */
function told(host: Host, detail: string | undefined): string {
  return host.kind === "name" || detail === undefined ? RESOLVES_ELSEWHERE : detail;
}

export interface Opened {
  readonly socket: Socket;
  readonly expected: Expectation;
  readonly record: DecisionRecord;
  /** For what is sent without any secret being put in; null where the sandbox has none. */
  readonly placeholders: PlaceholderWatch | null;
}

export const isOpened = (result: Opened | OutgoingRefusal): result is Opened => "socket" in result;

export class Opener {
  readonly #options: OpenerOptions;
  readonly #dials: Turns;
  #connections = 0;
  #ownAddresses: ReadonlySet<string> = new Set();
  #ownUntilMs = 0;

  constructor(options: OpenerOptions) {
    this.#options = options;
    this.#dials = new Turns(options.limits.halfOpenDials);
  }

  /** `asked`: the host as it was written, for the log where it has no canonical form. */
  async open(
    host: Host | InvalidHost,
    asked: string,
    port: number,
    via: Via,
    signal: AbortSignal,
  ): Promise<Opened | OutgoingRefusal> {
    const record = this.#record(host, asked, port, via);
    const deny = (destination: string, rule: string, told = rule): OutgoingRefusal => {
      record.decide("denied", rule);
      return refusal("denied", destination, told);
    };
    if (host.kind === "invalid") return deny("the destination", host.why);
    if (!isPort(port)) return deny(hostText(host), "its port is not one from 1 to 65535");
    const destination = authorityText(host, port);
    const rules = this.#options.rules();
    if (typeof rules === "string") return deny(destination, rules);
    const verdict = await this.#judge(rules, host, port, via);
    if (!verdict.allowed) return deny(destination, verdict.rule);
    try {
      const proxy = this.#options.upstream === null ? null : upstreamFor(this.#options.upstream, host, port);
      const socket =
        proxy === null
          ? await this.#direct(rules, host, port, record, signal)
          : await this.#throughProxy(proxy, host, port, record, signal);
      record.decide("allowed", verdict.rule);
      const placeholders = this.#placeholderWatch(record);
      return { socket, expected: this.#expectation(rules, host, port), record, placeholders };
    } catch (error) {
      const code = failureOf(error);
      const detail = error instanceof EgressFailure ? error.message : undefined;
      if (code === "denied") return deny(destination, detail ?? "denied", told(host, detail));
      record.note({ failure: code });
      record.decide("allowed", verdict.rule);
      return refusal(code, destination, detail);
    }
  }

  async lookup(asked: string): Promise<NameFamilies | OutgoingRefusal> {
    const host = parseHost(asked);
    if (host.kind === "invalid") return refusal("denied", "the name", host.why);
    if (host.kind === "address") return refusal("not_found", host.address.text, "it is an address, not a name");
    const rules = this.#options.rules();
    if (typeof rules === "string") return this.#deniedLookup(host, rules);
    const verdict = rules.judgeName(host.name, null);
    if (!verdict.allowed) {
      // Which port it is for is known, and the question put, when it is connected to. Nothing is resolved before.
      const askable = verdict.uncovered && this.#options.approvals?.mayCover(hostText(host)) === true;
      return askable ? { ipv4: true, ipv6: false } : this.#deniedLookup(host, verdict.rule);
    }
    const { upstream } = this.#options;
    if (upstream !== null && upstreamFor(upstream, host, 443) !== null) return { ipv4: true, ipv6: false };
    try {
      const addresses = await this.#resolve(host.name);
      const own = this.#own();
      const known = addresses.filter((address) => rules.judgeAddress(address, null, true, own).allowed);
      const [first] = addresses;
      if (first !== undefined && known.length === 0) {
        const why = rules.judgeAddress(first, null, true, own);
        return this.#deniedLookup(host, `${first.text} is ${why.rule}`, RESOLVES_ELSEWHERE);
      }
      return { ipv4: known.some((one) => one.family === 4), ipv6: known.some((one) => one.family === 6) };
    } catch (error) {
      return refusal(failureOf(error), host.name);
    }
  }

  /** One connection more than `max_connections`. Where a stream to the proxy leads is not known yet. */
  refuseBeyondLimit(target: OutgoingTarget, via: Via): OutgoingRefusal {
    const asked = target.kind === "name" ? target.name : target.kind === "address" ? target.address : proxyAddress.host;
    const port = target.kind === "proxy" ? proxyAddress.port : target.port;
    const host = parseHost(asked);
    const rule = `max_connections: ${this.#options.limits.connections} connections are open already`;
    this.#record(host, asked, port, via).decide("denied", rule);
    return refusal("limit", host.kind === "invalid" ? "this" : authorityText(host, port), rule);
  }

  #deniedLookup(host: Host, rule: string, told = rule): OutgoingRefusal {
    this.#record(host, "", 0, "capture").decide("denied", rule);
    return refusal("denied", hostText(host), told);
  }

  #record(host: Host | InvalidHost, asked: string, port: number, via: Via): DecisionRecord {
    const text = host.kind === "invalid" ? shown(asked) : hostText(host);
    const known = { sandbox: this.#options.sandbox, connection: ++this.#connections, via, host: text, port };
    return new DecisionRecord(known, (decision) => this.#options.onDecision(decision));
  }

  async #judge(rules: Rules, host: Host, port: number, via: Via): Promise<Verdict> {
    const verdict = this.#policyOn(rules, host, port);
    const { approvals, sandbox } = this.#options;
    if (verdict.allowed || !verdict.uncovered || approvals === null) return verdict;
    const approval = await approvals.answer({ sandbox, host: hostText(host), port, via });
    if (approval === null) return verdict;
    const { allowed, rule } = approval;
    return allowed ? { allowed, rule } : { allowed, rule, uncovered: false };
  }

  #policyOn(rules: Rules, host: Host, port: number): Verdict {
    return host.kind === "name"
      ? rules.judgeName(host.name, port)
      : rules.judgeAddress(host.address, port, false, this.#own());
  }

  #expectation(rules: Rules, host: Host, port: number): Expectation {
    const exact = host.kind === "name" && rules.egress === "allowlist";
    return { host, port, exact, rules, judge: (other, otherPort) => this.#policyOn(rules, other, otherPort) };
  }

  #placeholderWatch(record: DecisionRecord): PlaceholderWatch | null {
    const { secrets } = this.#options;
    const where = "a connection on which no secret is replaced";
    if (secrets.length === 0) return null;
    return new PlaceholderWatch(secrets, (name) => record.noteSecret({ name, use: "left", where }));
  }

  #own(): ReadonlySet<string> {
    if (Date.now() < this.#ownUntilMs) return this.#ownAddresses;
    const texts = this.#options.hostAddresses().map((text) => parseAddress(text.replace(/%.*$/, ""))?.text);
    this.#ownAddresses = new Set(texts.filter((text) => text !== undefined));
    this.#ownUntilMs = Date.now() + OWN_ADDRESSES_MS;
    return this.#ownAddresses;
  }

  async #resolve(name: string): Promise<readonly Address[]> {
    const addresses = await withDeadline(this.#options.names.addresses(name), this.#options.limits.lookupMs);
    if (addresses.length === 0) throw new EgressFailure("not_found", "there is no such name");
    return addresses;
  }

  /** Of several addresses only those that pass are dialled; the others are as if they were not there. */
  async #direct(rules: Rules, host: Host, port: number, record: DecisionRecord, signal: AbortSignal): Promise<Socket> {
    if (host.kind === "address") return this.#dial([host.address], port, record, signal);
    const addresses = await this.#resolve(host.name);
    record.note({ resolved: addresses.map((address) => address.text) });
    const own = this.#own();
    const judged = addresses.map((address) => ({ address, verdict: rules.judgeAddress(address, port, true, own) }));
    const passed = judged.filter((one) => one.verdict.allowed).map((one) => one.address);
    const [first] = judged;
    if (passed.length === 0 && first !== undefined) {
      throw new EgressFailure("denied", `it resolves to ${first.address.text}, ${first.verdict.rule}`);
    }
    return this.#dial(passed, port, record, signal);
  }

  async #dial(
    addresses: readonly Address[],
    port: number,
    record: DecisionRecord,
    signal: AbortSignal,
  ): Promise<Socket> {
    const { socket, address } = await this.#inTime(signal, (deadline) =>
      dialFirst(addresses, port, this.#options.dial, deadline),
    );
    record.note({ dialled: address.text });
    const mark = await refuseOwnListener(socket, this.#own());
    if (mark !== null) record.whenEnded(mark.release);
    return socket;
  }

  /** The proxy's own address is the user's choice and under no rule. */
  async #throughProxy(
    proxy: UpstreamProxy,
    host: Host,
    port: number,
    record: DecisionRecord,
    signal: AbortSignal,
  ): Promise<Socket> {
    if (host.kind === "address") await refuseOwnPort(host.address, port, this.#own());
    const literal = parseAddress(proxy.host);
    const addresses = literal === null ? await this.#resolve(proxy.host) : [literal];
    record.note({ upstream: `${proxy.kind}://${proxy.host}:${proxy.port}` });
    const { socket } = await this.#inTime(signal, async (deadline) => {
      const dialled = await dialFirst(addresses, proxy.port, this.#options.dial, deadline);
      try {
        await openTunnel(proxy, dialled.socket, host, port, deadline);
      } catch (error) {
        dialled.socket.destroy();
        throw error;
      }
      return dialled;
    });
    return socket;
  }

  async #inTime(signal: AbortSignal, work: (deadline: AbortSignal) => Promise<Dialled>): Promise<Dialled> {
    const late = new AbortController();
    const give = () => late.abort(signal.reason);
    const timer = setTimeout(() => {
      late.abort(new EgressFailure("timed_out", "no address answered"));
    }, this.#options.limits.dialMs);
    signal.addEventListener("abort", give, { once: true });
    try {
      signal.throwIfAborted();
      const giveBack = await this.#dials.take(late.signal);
      try {
        return await work(late.signal);
      } finally {
        giveBack();
      }
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", give);
    }
  }
}

async function withDeadline<T>(promise: Promise<T>, timeoutMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new EgressFailure("timed_out", "the name was not resolved in time")), timeoutMs);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
