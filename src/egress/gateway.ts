/** The gateway of one sandbox: takes connections in, has them opened, carries them, and counts what they take. */
import { networkInterfaces } from "node:os";
import type { Duplex } from "node:stream";
import type { EgressPort, NameFamilies, OutgoingRefusal, OutgoingTarget } from "../core/egress.js";
import type { NetworkRules } from "../core/policy.js";
import { ReadPool } from "../core/pooled-reads.js";
import { Approvals, type Ask } from "./approval.js";
import { carry } from "./carry.js";
import type { EgressDecision, Via } from "./decision.js";
import { type Dial, dialTcp } from "./dial.js";
import { refusal } from "./failure.js";
import { type Host, type InvalidHost, parseHost, shown } from "./host.js";
import { Allowance, defaultLimits, type GatewayLimits } from "./limits.js";
import { NameCache } from "./names/cache.js";
import type { Resolve } from "./names/resolve.js";
import { systemResolver } from "./names/system.js";
import { isOpened, type Opened, Opener } from "./opener.js";
import { Inspector } from "./peek/inspector.js";
import type { ProxyContext } from "./proxy/context.js";
import type { ProxySpeaker } from "./proxy/speaker.js";
import { Rules } from "./rules.js";
import type { SandboxSecrets } from "./secrets/bound-secret.js";
import type { TlsEnding } from "./secrets/ending.js";
import type { UpstreamSettings } from "./upstream/settings.js";

export interface GatewayOptions {
  readonly sandbox: string;
  /** Read at each new connection: a changed policy holds from the next one on. */
  policy(): NetworkRules;
  onDecision(decision: EgressDecision): void;
  /** Where absent, what no rule covers is denied. */
  readonly ask?: Ask;
  /** Whether anybody is there to be asked now; always, where absent. */
  readonly mayAsk?: () => boolean;
  readonly dial?: Dial;
  readonly resolve?: Resolve;
  /** Addresses of the host's own interfaces. */
  readonly hostAddresses?: () => readonly string[];
  readonly limits?: Partial<GatewayLimits>;
  readonly upstream?: UpstreamSettings | null;
  /** True for a gateway that serves programs outside our sandboxes, through a listener. */
  readonly external?: boolean;
  /** Which secrets are put in for which hosts. They open nothing: the policy must allow the hosts as well. */
  readonly secrets?: SandboxSecrets;
}

export interface Gateway extends EgressPort {
  /** Connections at this moment. */
  readonly connections: number;
  /** Ends every connection; new ones are refused. */
  close(): void;
}

function interfaceAddresses(): readonly string[] {
  return Object.values(networkInterfaces()).flatMap((addresses) => addresses?.map((one) => one.address) ?? []);
}

export function createGateway(options: GatewayOptions): Gateway {
  return new SandboxGateway(options);
}

/** What one client takes of `max_connections`. */
interface Place {
  /** Its own end, and the servers that are still sent what it left. */
  ends: number;
}

class SandboxGateway implements Gateway {
  readonly #options: GatewayOptions;
  readonly #limits: GatewayLimits;
  readonly #opener: Opener;
  readonly #slots: Allowance;
  readonly #lookups: Allowance;
  readonly #held: Allowance;
  readonly #pool = new ReadPool();
  readonly #places = new Map<Duplex, Place>();
  readonly #home: ProxyContext;
  /** Loaded with the first who needs it. */
  #proxy: Promise<ProxySpeaker> | null = null;
  #ending: Promise<TlsEnding> | null = null;
  #rules: { readonly policy: NetworkRules; readonly rules: Rules } | null = null;
  readonly #closing = new AbortController();

  constructor(options: GatewayOptions) {
    this.#options = options;
    this.#limits = { ...defaultLimits, ...options.limits };
    this.#slots = new Allowance(this.#limits.connections);
    this.#lookups = new Allowance(this.#limits.lookups);
    this.#held = new Allowance(this.#limits.heldBytes);
    this.#opener = new Opener({
      sandbox: options.sandbox,
      limits: this.#limits,
      dial: options.dial ?? dialTcp,
      names: new NameCache(options.resolve ?? systemResolver(), this.#closing.signal),
      approvals: options.ask === undefined ? null : new Approvals(options.ask, this.#limits, options.mayAsk),
      upstream: options.upstream ?? null,
      rules: () => this.#currentRules(),
      hostAddresses: options.hostAddresses ?? interfaceAddresses,
      onDecision: options.onDecision,
      secrets: options.secrets?.bound ?? [],
    });
    this.#home = {
      limits: this.#limits,
      open: (host, asked, port, signal) => this.#opener.open(host, asked, port, this.#via("proxy"), signal),
      carry: (stream, opened, first) => this.#carry(stream, opened, first),
    };
    // A policy that cannot be judged by stops the start, not the first connection.
    this.#rulesOf(options.policy());
  }

  get connections(): number {
    return this.#slots.used;
  }

  close(): void {
    this.#closing.abort(new Error("the sandbox is gone"));
    for (const stream of this.#places.keys()) stream.destroy();
  }

  async lookup(name: string): Promise<NameFamilies | OutgoingRefusal> {
    if (this.#closing.signal.aborted || !this.#lookups.take(1)) return refusal("limit", shown(name));
    try {
      return await this.#opener.lookup(name);
    } finally {
      this.#lookups.give(1);
    }
  }

  async connect(target: OutgoingTarget, stream: Duplex): Promise<OutgoingRefusal | null> {
    if (this.#closing.signal.aborted) return refusal("limit", "this");
    if (!this.#slots.take(1)) return this.#opener.refuseBeyondLimit(target, this.#via("capture"));
    if (target.kind === "proxy") return this.#serveProxy(stream);
    const gone = new AbortController();
    const leave = () => gone.abort(new Error("the client is gone"));
    stream.once("close", leave);
    stream.on("error", leave);
    let carried = false;
    try {
      const asked = target.kind === "name" ? target.name : target.address;
      const host = target.kind === "name" ? parseHost(asked) : parseCaptured(asked);
      const opened = await this.#opener.open(host, asked, target.port, this.#via("capture"), gone.signal);
      if (!isOpened(opened)) return opened;
      this.#hold(stream);
      carried = true;
      this.#carry(stream, opened);
      return null;
    } finally {
      stream.off("close", leave);
      stream.off("error", leave);
      if (!carried) this.#slots.give(1);
    }
  }

  async #serveProxy(stream: Duplex): Promise<null> {
    this.#hold(stream);
    // A stream that breaks before anybody listens must not take the process with it.
    stream.on("error", () => stream.destroy());
    this.#proxy ??= import("./proxy/speaker.js").then(({ ProxySpeaker }) => new ProxySpeaker(this.#home));
    (await this.#proxy).serve(stream);
    return null;
  }

  /** The stream's place is free again when it is closed, and every server to which something was carried for it. */
  #hold(stream: Duplex): void {
    const place = { ends: 1 };
    this.#places.set(stream, place);
    const free = () => {
      this.#places.delete(stream);
      this.#leave(place);
    };
    if (stream.closed) free();
    else stream.once("close", free);
    if (this.#closing.signal.aborted) stream.destroy();
  }

  #leave(place: Place): void {
    place.ends--;
    if (place.ends === 0) this.#slots.give(1);
  }

  #carry(client: Duplex, opened: Opened, first?: Buffer): void {
    const { secrets } = this.#options;
    const place = this.#places.get(client);
    if (place !== undefined) {
      place.ends++;
      opened.record.whenEnded(() => this.#leave(place));
    }
    const { host } = opened.expected;
    const bound = host.kind === "name" && secrets?.bound.some((secret) => secret.host === host.name);
    if (!bound || secrets === undefined) this.#carryAsIs(client, opened, first);
    else this.#carryWithSecrets(client, opened, host.name, secrets, first);
  }

  #carryWithSecrets(client: Duplex, opened: Opened, host: string, secrets: SandboxSecrets, first?: Buffer): void {
    if (first !== undefined && first.length > 0) client.unshift(first);
    client.on("error", () => client.destroy());
    opened.socket.on("error", () => opened.socket.destroy());
    this.#ending ??= import("./secrets/ending.js").then(
      ({ TlsEnding }) => new TlsEnding(secrets, this.#limits, this.#held),
    );
    this.#ending
      .then((ending) => ending.take(client, opened, host))
      .then(
        (taken) => {
          if (!taken) this.#carryAsIs(client, opened);
        },
        (error: unknown) => {
          client.destroy();
          opened.socket.destroy();
          opened.record.end({ sent: 0, received: 0 }, error instanceof Error ? error.message : String(error));
        },
      );
  }

  #carryAsIs(client: Duplex, { socket, expected, record, placeholders }: Opened, first?: Buffer): void {
    const { headBytes, helloBytes, handshakeMs, idleMs } = this.#limits;
    const inspector = new Inspector({
      expected,
      headBytes,
      helloBytes,
      allowance: this.#held,
      seen: (kind, name) => record.note({ seen: { kind, name: shown(name) } }),
    });
    carry({
      client,
      server: socket,
      pool: this.#pool,
      inspector,
      enforce: expected.exact || expected.rules.deniesDomains,
      ...(first === undefined ? {} : { first }),
      ...(placeholders === null ? {} : { onSent: (chunk: Buffer) => placeholders.push(chunk) }),
      handshakeMs,
      idleMs,
      onEnd: ({ sent, received, refused }) => record.end({ sent, received }, refused),
    });
  }

  #via(usual: Via): Via {
    return this.#options.external === true ? "listener" : usual;
  }

  #currentRules(): Rules | string {
    try {
      return this.#rulesOf(this.#options.policy());
    } catch (error) {
      return `the policy cannot be used: ${error instanceof Error ? error.message : String(error)}`;
    }
  }

  #rulesOf(policy: NetworkRules): Rules {
    if (this.#rules?.policy !== policy) this.#rules = { policy, rules: new Rules(policy) };
    return this.#rules.rules;
  }
}

/** A captured address is never a name, whatever text it comes as. */
function parseCaptured(text: string): Host | InvalidHost {
  const host = parseHost(text);
  return host.kind === "name" ? { kind: "invalid", why: "it is not an address" } : host;
}
