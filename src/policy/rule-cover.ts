/** Whether everything that one network rule opens is also opened by another. */
import type { NetworkRule } from "../core/policy.js";
import { ruleKey } from "./network-rules.js";

export function isRuleWithin(rule: NetworkRule, outer: NetworkRule): boolean {
  if (ruleKey(rule) === ruleKey(outer)) return true;
  if (!("domain" in rule) || !("domain" in outer) || !arePortsWithin(rule.ports, outer.ports)) return false;
  const name = rule.domain.toLowerCase();
  const outerName = outer.domain.toLowerCase();
  if (name === outerName) return true;
  if (!outerName.startsWith("*.")) return false;
  // `*.a.example` and `a.example` both lie within `*.example`; `example` itself does not.
  return name.replace(/^\*\./, "").endsWith(outerName.slice(1));
}

function arePortsWithin(ports: readonly number[] | undefined, outer: readonly number[] | undefined): boolean {
  if (outer === undefined) return true;
  return ports?.every((port) => outer.includes(port)) ?? false;
}
