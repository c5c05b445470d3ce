/**
 * A network policy made ready for judging. Pure: it knows names, addresses and ports, and asks nobody. Deny is looked
 * at before allow; a domain opens public addresses only, a `cidr` whatever lies in it.
 */

import type { Address } from "../core/address/address.js";
import { whyNotPublic } from "../core/address/non-public.js";
import { contains, embeddedIpv4, parseRange, type Range } from "../core/address/range.js";
import { BEYOND_LIMITS, UNCOVERED } from "../core/egress.js";
import { AgentKernelError } from "../core/errors.js";
import type { EgressMode, NetworkRule, NetworkRules } from "../core/policy.js";
import { whyInvalidRule } from "../policy/network-rules.js";
import { expandPresets } from "../policy/presets.js";

export type Verdict =
  | { readonly allowed: true; readonly rule: string }
  /** `uncovered`: nothing forbids it, only no rule allows it; this is what may be put to the user. */
  | { readonly allowed: false; readonly rule: string; readonly uncovered: boolean };

interface DomainRule {
  readonly ports: readonly number[] | undefined;
  readonly words: string;
}

interface RangeRule extends DomainRule {
  readonly range: Range;
}

const allow = (rule: string): Verdict => ({ allowed: true, rule });
const uncovered: Verdict = { allowed: false, rule: UNCOVERED, uncovered: true };
const refuse = (rule: string): Verdict => ({ allowed: false, rule, uncovered: false });

/** They lead to the host itself or to the metadata of its cloud, also where a resolver says otherwise. */
const localNames = new Set(["localhost", "metadata", "metadata.google.internal", "metadata.goog", "instance-data"]);

const isLocalName = (name: string): boolean => localNames.has(name) || name.endsWith(".localhost");

class RuleList {
  /** By the name itself, and by what follows `*.`. */
  readonly #exact = new Map<string, DomainRule[]>();
  readonly #below = new Map<string, DomainRule[]>();
  readonly #ranges: RangeRule[] = [];

  constructor(effect: "allow" | "deny", rules: readonly NetworkRule[]) {
    for (const rule of rules) {
      const preset = "preset" in rule ? ` (preset ${rule.preset})` : "";
      for (const plain of expandPresets([rule])) this.#add(effect, plain, preset);
    }
  }

  get hasDomains(): boolean {
    return this.#exact.size > 0 || this.#below.size > 0;
  }

  domain(name: string, accepts: (ports: readonly number[] | undefined) => boolean): string | null {
    const own = this.#exact.get(name)?.find((rule) => accepts(rule.ports));
    if (own !== undefined) return own.words;
    for (let dot = name.indexOf("."); dot >= 0; dot = name.indexOf(".", dot + 1)) {
      const found = this.#below.get(name.slice(dot + 1))?.find((rule) => accepts(rule.ports));
      if (found !== undefined) return found.words;
    }
    return null;
  }

  names(name: string): boolean {
    return this.#exact.has(name);
  }

  range(address: Address, port: number): string | null {
    const found = this.#ranges.find((rule) => contains(rule.range, address) && (rule.ports?.includes(port) ?? true));
    return found?.words ?? null;
  }

  rangeOnAnyPort(address: Address): string | null {
    return this.#ranges.find((rule) => contains(rule.range, address))?.words ?? null;
  }

  #add(effect: "allow" | "deny", rule: NetworkRule, preset: string): void {
    const why = whyInvalidRule(rule);
    if (why !== null) throw new AgentKernelError("invalid_policy", `net.${effect}: ${why}`);
    if ("preset" in rule) return;
    const { ports } = rule;
    const on = ports === undefined ? "" : ` on port ${ports.join(", ")}`;
    if ("cidr" in rule) {
      const range = parseRange(rule.cidr);
      if (range === null) throw new AgentKernelError("invalid_policy", `net.${effect}: "${rule.cidr}" is not a range`);
      this.#ranges.push({ range, ports, words: `${effect} cidr ${rule.cidr}${on}` });
      return;
    }
    const domain = rule.domain.toLowerCase();
    const target = domain.startsWith("*.") ? this.#below : this.#exact;
    const key = domain.replace(/^\*\./, "");
    const words = `${effect} domain ${domain}${on}${preset}`;
    target.set(key, [...(target.get(key) ?? []), { ports, words }]);
  }
}

export class Rules {
  readonly egress: EgressMode;
  readonly #allow: RuleList;
  readonly #deny: RuleList;
  /** Null: whatever is not denied may be put to the user. */
  readonly #approvable: RuleList | null;

  constructor(policy: NetworkRules) {
    this.egress = policy.egress;
    this.#allow = new RuleList("allow", policy.allow);
    this.#deny = new RuleList("deny", policy.deny);
    this.#approvable = policy.approvable === undefined ? null : new RuleList("allow", policy.approvable);
  }

  get deniesDomains(): boolean {
    return this.#deny.hasDomains;
  }

  /** With port null: whether the name may be known at all, that is on some port. */
  judgeName(name: string, port: number | null): Verdict {
    if (this.egress === "off") return refuse("egress is off");
    const denied = this.deniedName(name, port);
    if (denied !== null) return refuse(denied);
    const allowed = this.#allow.domain(name, (ports) => port === null || (ports?.includes(port) ?? true));
    if (isLocalName(name) && !this.#allow.names(name)) return refuse("a name of the host itself or of cloud metadata");
    if (allowed !== null) return allow(allowed);
    if (this.egress === "on") return allow("egress is on");
    const approvable = this.#approvable?.domain(name, (ports) => port === null || (ports?.includes(port) ?? true));
    return approvable === null ? refuse(BEYOND_LIMITS) : uncovered;
  }

  deniedName(name: string, port: number | null): string | null {
    return this.#deny.domain(name, (ports) => ports === undefined || (port !== null && ports.includes(port)));
  }

  /**
   * `byName`: the name in front of it is allowed already, so a public address needs no rule of its own. Deny rules
   * also hold for an IPv4 address inside an IPv6 one; what allows must name the address as it would be dialled.
   */
  judgeAddress(address: Address, port: number | null, byName: boolean, own: ReadonlySet<string>): Verdict {
    if (this.egress === "off") return refuse("egress is off");
    for (const one of [address, ...embeddedIpv4(address)]) {
      const denied = port === null ? null : this.#deny.range(one, port);
      if (denied !== null) return refuse(denied);
    }
    const opened = port === null ? this.#allow.rangeOnAnyPort(address) : this.#allow.range(address, port);
    if (opened !== null) return allow(opened);
    if (own.has(address.text) || embeddedIpv4(address).some((inner) => own.has(inner.text))) {
      return refuse("an address of the host itself");
    }
    const why = whyNotPublic(address);
    if (why !== null) return refuse(`not a public address: ${why}`);
    if (byName || this.egress === "on") return allow("egress is on");
    const list = this.#approvable;
    const approvable = port === null ? list?.rangeOnAnyPort(address) : list?.range(address, port);
    return approvable === null ? refuse(BEYOND_LIMITS) : uncovered;
  }
}
