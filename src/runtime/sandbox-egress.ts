/**
 * A sandbox's way out: the gateway, loaded when something is first asked of it, since most commands reach nothing. It
 * keeps what was refused, for the user to hear of.
 */
import type { EgressPort, NameFamilies, OutgoingRefusal, OutgoingTarget } from "../core/egress.js";
import type { NetworkRules } from "../core/policy.js";
import type { Ask, EgressDecision, Gateway, SandboxSecrets } from "../egress/index.js";
import type { GatewayLimits } from "../egress/limits.js";

interface SandboxEgressOptions {
  readonly sandbox: string;
  /** Read at each connection: a changed policy holds from the next one on. */
  readonly rules: () => NetworkRules;
  readonly limits?: Partial<GatewayLimits>;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly onDecision: (decision: EgressDecision) => void;
  readonly ask?: Ask | undefined;
  readonly mayAsk?: (() => boolean) | undefined;
  readonly secrets?: SandboxSecrets | undefined;
}

/** Something that the sandbox was not let through to. */
export interface Blocked {
  readonly host: string;
  /** Null where the name was only looked up. */
  readonly port: number | null;
  readonly rule: string;
  readonly times: number;
}

/** Bytes of connections that are over. */
interface Traffic {
  readonly receivedBytes: number;
  readonly sentBytes: number;
  readonly connections: number;
}

/** A sandbox can ask for any number of names. */
const MOST_BLOCKED = 1000;

export class SandboxEgress implements EgressPort {
  readonly #options: SandboxEgressOptions;
  readonly #blocked = new Map<string, Blocked>();
  #traffic: Traffic = { receivedBytes: 0, sentBytes: 0, connections: 0 };
  #gateway: Promise<Gateway> | undefined;
  #closed = false;

  constructor(options: SandboxEgressOptions) {
    this.#options = options;
  }

  get blocked(): readonly Blocked[] {
    return [...this.#blocked.values()];
  }

  get traffic(): Traffic {
    return this.#traffic;
  }

  async lookup(name: string): Promise<NameFamilies | OutgoingRefusal> {
    return await (await this.#open()).lookup(name);
  }

  async connect(target: OutgoingTarget, stream: Parameters<EgressPort["connect"]>[1]): Promise<OutgoingRefusal | null> {
    return await (await this.#open()).connect(target, stream);
  }

  /** Ends every connection. */
  async close(): Promise<void> {
    this.#closed = true;
    (await this.#gateway)?.close();
  }

  #open(): Promise<Gateway> {
    this.#gateway ??= this.#load();
    return this.#gateway;
  }

  async #load(): Promise<Gateway> {
    const { createGateway, upstreamFromEnvironment } = await import("../egress/index.js");
    const { sandbox, rules, limits, env, ask, mayAsk, secrets } = this.#options;
    const gateway = createGateway({
      sandbox,
      policy: rules,
      ...(limits === undefined ? {} : { limits }),
      onDecision: (decision) => this.#note(decision),
      upstream: upstreamFromEnvironment(env),
      ...(ask === undefined ? {} : { ask }),
      ...(mayAsk === undefined ? {} : { mayAsk }),
      ...(secrets === undefined ? {} : { secrets }),
    });
    if (this.#closed) gateway.close();
    return gateway;
  }

  #note(decision: EgressDecision): void {
    this.#options.onDecision(decision);
    if (decision.phase === "ended") this.#count(decision.bytes);
    if (decision.verdict !== "denied") return;
    const { host, rule } = decision;
    const port = decision.port === 0 ? null : decision.port;
    const key = `${host}:${port ?? ""}`;
    const before = this.#blocked.get(key);
    if (before === undefined && this.#blocked.size >= MOST_BLOCKED) return;
    this.#blocked.set(key, { host, port, rule, times: (before?.times ?? 0) + 1 });
  }

  #count(bytes: EgressDecision["bytes"]): void {
    const { receivedBytes, sentBytes, connections } = this.#traffic;
    this.#traffic = {
      receivedBytes: receivedBytes + (bytes?.received ?? 0),
      sentBytes: sentBytes + (bytes?.sent ?? 0),
      connections: connections + 1,
    };
  }
}
