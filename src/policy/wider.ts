/** In which fields one policy allows more than another. What a sandbox may use of the machine is not looked at. */
import type { NetworkRule, Policy } from "../core/policy.js";
import type { FieldPath } from "./fields.js";
import { ruleKey } from "./network-rules.js";
import { type OrderedField, opennessOf } from "./openness.js";
import { isRuleWithin } from "./rule-cover.js";

const ordered: readonly (readonly [OrderedField, (policy: Policy) => unknown])[] = [
  ["fs.workspace.mode", ({ fs }) => fs.workspace.mode],
  ["fs.workspace.readonly", ({ fs }) => fs.workspace.readonly],
  ["fs.home", ({ fs }) => fs.home],
  ["fs.rootReadonly", ({ fs }) => fs.rootReadonly],
  ["net.egress", ({ net }) => net.egress],
  ["proc.noRoot", ({ proc }) => proc.noRoot],
  ["proc.capabilities", ({ proc }) => proc.capabilities],
  ["proc.seccomp", ({ proc }) => proc.seccomp],
  ["proc.landlock", ({ proc }) => proc.landlock],
  ["proc.passHostEnv", ({ proc }) => proc.passHostEnv],
];

export interface Wider {
  readonly field: FieldPath;
  readonly wanted: unknown;
  readonly usual: unknown;
}

export function widerFields(wanted: Policy, usual: Policy): readonly Wider[] {
  const found: Wider[] = [];
  for (const [field, of] of ordered) {
    const [more, less] = [of(wanted), of(usual)];
    if (opennessOf(field, more) > opennessOf(field, less)) found.push({ field, wanted: more, usual: less });
  }
  const beyond = rulesBeyond(wanted.net, usual.net);
  if (beyond.length > 0) found.push({ field: "net.allow", wanted: beyond, usual: usual.net.allow });
  const undenied = new Set(wanted.net.deny.map(ruleKey));
  const lost = usual.net.deny.filter((rule) => !undenied.has(ruleKey(rule)));
  if (lost.length > 0) found.push({ field: "net.deny", wanted: wanted.net.deny, usual: lost });
  return found;
}

/** A range can lead to addresses that are not public, which no domain does and which `on` does not open. */
function rulesBeyond(wanted: Policy["net"], usual: Policy["net"]): readonly NetworkRule[] {
  const isCovered = (rule: NetworkRule) =>
    usual.allow.some((outer) => isRuleWithin(rule, outer)) || (usual.egress === "on" && !("cidr" in rule));
  return wanted.egress === "off" ? [] : wanted.allow.filter((rule) => !isCovered(rule));
}
