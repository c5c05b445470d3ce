/**
 * What was decided about one connection, as values for whoever keeps the log. A connection that is refused gives one
 * value; one that is allowed gives one when it is decided and one at its end, whose verdict is the last one: a
 * connection that was allowed by its name may still be ended for what its first bytes said.
 */
import type { OutgoingFailure } from "../core/egress.js";

export type Via = "capture" | "proxy" | "listener";

/** Records the use of a placeholder that a sandbox sent, without its secret. */
export interface SecretUse {
  readonly name: string;
  readonly use: "replaced" | "left";
  readonly where: string;
}

export interface EgressDecision {
  readonly phase: "decided" | "ended";
  readonly timeMs: number;
  readonly sandbox: string;
  /** The same in both values of one connection; counted per gateway. */
  readonly connection: number;
  readonly via: Via;
  /** Name or address in canonical form, or escaped text where it has none. */
  readonly host: string;
  /** 0: the name was only looked up. */
  readonly port: number;
  readonly verdict: "allowed" | "denied";
  /** The rule, in words. */
  readonly rule: string;
  /** Addresses that the name resolved to, refused ones included. */
  readonly resolved: readonly string[];
  readonly dialled: string | null;
  /** The user's own proxy that was dialled instead, without its credentials. */
  readonly upstream: string | null;
  /** The host that the first bytes named: TLS server name, or the Host of a request. */
  readonly seen: { readonly kind: "sni" | "host"; readonly name: string } | null;
  /** Why an allowed connection did not come about. */
  readonly failure: OutgoingFailure | null;
  readonly bytes: { readonly sent: number; readonly received: number } | null;
  /** Each kind of use once, so far as placeholders could be seen: nothing inside TLS that is not ended here. */
  readonly secrets: readonly SecretUse[];
}

/** A sandbox chooses the names of headers; what is logged of them stays within bounds. */
const MAX_SECRET_USES = 32;

type Known = Pick<EgressDecision, "sandbox" | "connection" | "via" | "host" | "port">;
type Found = Partial<Pick<EgressDecision, "resolved" | "dialled" | "upstream" | "seen" | "failure">>;

/** One connection's decisions. Each phase is reported once, whatever happens. */
export class DecisionRecord {
  readonly #known: Known;
  readonly #report: (decision: EgressDecision) => void;
  readonly #secrets: SecretUse[] = [];
  #found: Found = {};
  #verdict: "allowed" | "denied" = "allowed";
  #rule = "";
  #decided = false;
  #ended = false;
  readonly #onEnd: (() => void)[] = [];

  constructor(known: Known, report: (decision: EgressDecision) => void) {
    this.#known = known;
    this.#report = report;
  }

  note(found: Found): void {
    this.#found = { ...this.#found, ...found };
  }

  noteSecret(use: SecretUse): void {
    const known = this.#secrets.some((one) => one.name === use.name && one.use === use.use && one.where === use.where);
    if (!known && this.#secrets.length < MAX_SECRET_USES) this.#secrets.push(use);
  }

  /** Calls it when the connection has ended. */
  whenEnded(call: () => void): void {
    this.#onEnd.push(call);
  }

  decide(verdict: "allowed" | "denied", rule: string): void {
    if (this.#decided) return;
    this.#decided = true;
    this.#verdict = verdict;
    this.#rule = rule;
    this.#send("decided", null);
  }

  /** `denied`: the reason for which a connection that had been allowed was ended. */
  end(bytes: { readonly sent: number; readonly received: number }, denied: string | null): void {
    if (this.#ended) return;
    this.#ended = true;
    for (const call of this.#onEnd) call();
    if (denied !== null) {
      this.#verdict = "denied";
      this.#rule = denied;
    }
    this.#send("ended", bytes);
  }

  #send(phase: "decided" | "ended", bytes: EgressDecision["bytes"]): void {
    this.#report({
      phase,
      timeMs: Date.now(),
      ...this.#known,
      verdict: this.#verdict,
      rule: this.#rule,
      resolved: [],
      dialled: null,
      upstream: null,
      seen: null,
      failure: null,
      ...this.#found,
      bytes,
      secrets: [...this.#secrets],
    });
  }
}
