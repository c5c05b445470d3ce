/** Holds changes by a caller who is not the user of this machine to what the sandbox was made with. */
import { AgentKernelError } from "../../core/errors.js";
import type { NetworkRule, NetworkRules, Policy } from "../../core/policy.js";
import { alwaysDenied, onlyWithin } from "../../policy/limits.js";
import { opennessOf } from "../../policy/openness.js";
import type { Sandbox } from "../../runtime/sandboxes/index.js";
import { type Caller, ownerOf } from "../auth/caller.js";
import type { NetworkRequest } from "../operations/fields.js";

const hint = "ask whoever made the sandbox, or use a key with the scope admin";

function forbidden(field: string, why: string): AgentKernelError {
  return new AgentKernelError("forbidden", `${field}: ${why}`, { hint, details: { field } });
}

/** The most that somebody else than the user may make of its network. */
export function ceilingOf({ record }: Sandbox): NetworkRules {
  const { egress, allow, deny } = record.policy.net;
  return record.networkCeiling ?? { egress, allow, deny };
}

/** What was denied stays so. Rules that nobody named, such as a profile's, count as far as they lie within. */
export function networkWithin(wanted: NetworkRules, asked: NetworkRequest, ceiling: NetworkRules): NetworkRules {
  const open = (rules: NetworkRules) => opennessOf("net.egress", rules.egress);
  if (open(wanted) > open(ceiling)) {
    throw forbidden("network", `the sandbox was made with ${ceiling.egress}, and this caller may not open it further`);
  }
  const deny = alwaysDenied(ceiling.deny, "").narrow(wanted.deny) as readonly NetworkRule[];
  if (ceiling.egress === "on") return { ...wanted, deny };
  const allow = onlyWithin(ceiling.allow, "").narrow(wanted.allow) as readonly NetworkRule[];
  const named = typeof asked === "object" ? (asked.allowed_domains ?? []) : [];
  const lost = wanted.allow.find((rule) => !allow.includes(rule) && isNamed(rule, named));
  if (lost !== undefined && "domain" in lost) {
    throw forbidden("network.allowed_domains", `the sandbox was made without ${lost.domain}`);
  }
  return { ...wanted, allow, deny };
}

function isNamed(rule: NetworkRule, named: readonly string[]): boolean {
  if (!("domain" in rule)) return false;
  return named.some((text) => text.toLowerCase().replace(/:\d+$/, "") === rule.domain.toLowerCase());
}

/** A time that was set may be made shorter, and by whoever made the sandbox also longer; not taken away. */
export function refuseLongerLife(
  caller: Caller,
  sandbox: Sandbox,
  field: "ttl" | "idle_timeout",
  wantedMs: number | null,
): void {
  const { ttlLeftMs, idleTimeoutMs } = sandbox.summary();
  const presentMs = field === "ttl" ? ttlLeftMs : idleTimeoutMs;
  if (caller.isTrusted || presentMs === null) return;
  if (wantedMs === null) throw forbidden(field, "this caller may not take the limit away");
  if (wantedMs > presentMs && sandbox.owner !== ownerOf(caller)) {
    throw forbidden(field, "this caller may not make it longer");
  }
}

/** A sandbox that was made for one user runs nobody else's commands. */
export function refuseOtherUser({ isTrusted }: Caller, asked: string | undefined, { proc }: Policy): void {
  if (isTrusted || asked === undefined || proc.user === null || asked === proc.user) return;
  throw forbidden("user", `the sandbox was made for ${proc.user}`);
}
