/**
 * Limits: what no input may go beyond, whichever layer it comes from. A limit only ever narrows, and says who set it.
 */
import { type NetworkRule, type ProfileName, profileNames, type WorkspaceMode } from "../core/policy.js";
import type { FieldPath, FieldValues, PolicyFields } from "./fields.js";
import { ruleKey } from "./network-rules.js";
import { isOrderedField, type OrderedField, opennessOf, stricter } from "./openness.js";
import { isRuleWithin } from "./rule-cover.js";

export interface Limit {
  /** Names the input that set it, for people. */
  readonly origin: string;
  readonly field: FieldPath;
  /** The value itself where it is within the limit, else the nearest that is. */
  readonly narrow: (value: unknown) => unknown;
  /** What to do where a request names more, if that is not in the user-wide file. */
  readonly remedy?: string;
  /** Of a limit on rules: those that all others lie within. */
  readonly outer?: readonly NetworkRule[];
}

export interface ProfileFloor {
  readonly name: ProfileName;
  readonly origin: string;
}

/** What limits leave of a value. */
export function mostUnder<K extends FieldPath>(field: K, value: FieldValues[K], limits: readonly Limit[]) {
  const own = limits.filter((limit) => limit.field === field);
  return own.reduce((held, { narrow }) => narrow(held) as FieldValues[K], value);
}

/** At most as open as `most`. */
export function atMost<K extends OrderedField>(field: K, most: FieldValues[K], origin: string): Limit {
  return { origin, field, narrow: (value) => stricter(field, value as FieldValues[K], most) };
}

/** Each field of `fields` that has an order, at most as open as it is there. */
export function atMostFields(fields: PolicyFields, origin: string): readonly Limit[] {
  return Object.entries(fields).flatMap(([field, most]) =>
    isOrderedField(field) && most !== undefined ? [atMost(field, most as never, origin)] : [],
  );
}

/** Of the ways to show a project only these; another becomes the next stricter one, in the end `none`. */
export function onlyWorkspaceModes(modes: readonly WorkspaceMode[], origin: string): Limit {
  const field = "fs.workspace.mode";
  const open = (mode: WorkspaceMode) => opennessOf(field, mode);
  const narrow = (value: unknown) => {
    const asked = value as WorkspaceMode;
    if (asked === "none" || modes.includes(asked)) return asked;
    const allowed = modes.filter((mode) => open(mode) < open(asked)).sort((a, b) => open(b) - open(a));
    return allowed[0] ?? "none";
  };
  return { origin, field, narrow };
}

/** Only rules that lie within one of these count. */
export function onlyWithin(outer: readonly NetworkRule[], origin: string): Limit {
  const isWithin = (rule: NetworkRule) => outer.some((one) => isRuleWithin(rule, one));
  const narrow = (value: unknown) => {
    const rules = value as readonly NetworkRule[];
    return rules.every(isWithin) ? rules : rules.filter(isWithin);
  };
  return { origin, field: "net.allow", narrow, outer };
}

/** What an approval may add at most, under these limits; undefined where none speaks of it. */
export function approvableUnder(limits: readonly Limit[]): readonly NetworkRule[] | undefined {
  const [first, ...others] = limits.flatMap(({ outer }) => (outer === undefined ? [] : [outer]));
  return first?.filter((rule) => others.every((outer) => outer.some((one) => isRuleWithin(rule, one))));
}

/** These are denied beside whatever else is. */
export function alwaysDenied(denied: readonly NetworkRule[], origin: string): Limit {
  const narrow = (value: unknown) => {
    const rules = value as readonly NetworkRule[];
    const known = new Set(rules.map(ruleKey));
    const missing = denied.filter((rule) => !known.has(ruleKey(rule)));
    return missing.length === 0 ? rules : [...rules, ...missing];
  };
  return { origin, field: "net.deny", narrow };
}

export function isLooserProfile(name: ProfileName, than: ProfileName): boolean {
  // The list of profiles goes from loose to strict.
  return profileNames.indexOf(name) < profileNames.indexOf(than);
}
