/**
 * In which fields one policy allows more than another, and the most of it that the other allows too. Every field has a
 * rule in `bounds`; a new field without one does not compile.
 */
import type { Mount, NetworkRule, Policy } from "../core/policy.js";
import { byPath, type NumericPath } from "../settings/index.js";
import { type FieldPath, type FieldValues, fieldPaths } from "./fields.js";
import { fieldsOf } from "./fields-of.js";
import { hideRuleKey } from "./hidden.js";
import { ruleKey } from "./network-rules.js";
import { type OrderedField, opennessOf } from "./openness.js";
import { isRuleWithin } from "./rule-cover.js";
import { isRootUser } from "./users.js";

export interface Wider {
  readonly field: FieldPath;
  /** The value, or of a list the entries, that `usual` does not allow. */
  readonly wanted: unknown;
  readonly usual: unknown;
}

interface Bound<T> {
  /** What of `wanted` goes beyond `usual`; undefined where nothing does: null is a value. `values` has the other fields of `usual`. */
  readonly beyond: (wanted: T, usual: T, values: FieldValues) => unknown;
  /** The most of `wanted` that `usual` allows. */
  readonly within: (wanted: T, usual: T, values: FieldValues) => T;
}

/** Fields with an order, of which the stricter of two values counts. */
function ordered<K extends OrderedField>(field: K): Bound<FieldValues[K]> {
  const isBeyond = (wanted: FieldValues[K], usual: FieldValues[K]) =>
    opennessOf(field, wanted) > opennessOf(field, usual);
  return {
    beyond: (wanted, usual) => (isBeyond(wanted, usual) ? wanted : undefined),
    within: (wanted, usual) => (isBeyond(wanted, usual) ? usual : wanted),
  };
}

/** Lists whose entries allow something: only those that `usual` covers. */
function granting<T>(isCovered: (entry: T, usual: readonly T[], values: FieldValues) => boolean): Bound<readonly T[]> {
  return {
    beyond: (wanted, usual, values) => nonEmpty(wanted.filter((entry) => !isCovered(entry, usual, values))),
    within: (wanted, usual, values) => wanted.filter((entry) => isCovered(entry, usual, values)),
  };
}

/** Lists whose entries take something away: none of `usual` may be missing. */
function denying<T>(keyOf: (entry: T) => string): Bound<readonly T[]> {
  const missing = (wanted: readonly T[], usual: readonly T[]) => {
    const known = new Set(wanted.map(keyOf));
    return usual.filter((entry) => !known.has(keyOf(entry)));
  };
  return {
    beyond: (wanted, usual) => nonEmpty(missing(wanted, usual)),
    within: (wanted, usual) => [...wanted, ...missing(wanted, usual)],
  };
}

function nonEmpty<T>(entries: readonly T[]): readonly T[] | undefined {
  return entries.length === 0 ? undefined : entries;
}

/** A value that replaces another of which neither is stricter in general. */
function replaceable<T>(isBeyond: (wanted: T, usual: T) => boolean): Bound<T> {
  return {
    beyond: (wanted, usual) => (isBeyond(wanted, usual) ? wanted : undefined),
    within: (wanted, usual) => (isBeyond(wanted, usual) ? usual : wanted),
  };
}

/** A range can lead to addresses that are not public, which no domain does and which `on` does not open. */
function isRuleCovered(rule: NetworkRule, usual: readonly NetworkRule[], values: FieldValues): boolean {
  if (values["net.egress"] === "off") return false;
  return (values["net.egress"] === "on" && !("cidr" in rule)) || usual.some((outer) => isRuleWithin(rule, outer));
}

function isMountCovered(mount: Mount, usual: readonly Mount[]): boolean {
  return usual.some(
    ({ host, guest, readonly }) => host === mount.host && guest === mount.guest && (mount.readonly || !readonly),
  );
}

/** The user of an image is the image's choice, which includes root; anybody may leave root. */
function isOtherUser(wanted: string | null, usual: string | null): boolean {
  return usual !== null && wanted !== usual && !isRootUser(usual);
}

const itself = (text: string) => text;

export const bounds: { readonly [K in FieldPath]: Bound<FieldValues[K]> } = {
  "fs.workspace.mode": ordered("fs.workspace.mode"),
  "fs.workspace.readonly": ordered("fs.workspace.readonly"),
  "fs.home": ordered("fs.home"),
  "fs.mounts": granting(isMountCovered),
  "fs.rootReadonly": ordered("fs.rootReadonly"),
  "fs.deny": denying(hideRuleKey),
  "fs.show": granting((glob, usual) => usual.includes(glob)),
  "fs.protect": denying(itself),
  "fs.review": denying(itself),
  "net.egress": ordered("net.egress"),
  "net.allow": granting(isRuleCovered),
  "net.deny": denying(ruleKey),
  "net.secrets": granting(({ name, host, header }, usual) =>
    usual.some((one) => one.name === name && one.host === host && one.header === header),
  ),
  "proc.user": replaceable(isOtherUser),
  "proc.noRoot": ordered("proc.noRoot"),
  "proc.capabilities": ordered("proc.capabilities"),
  "proc.seccomp": ordered("proc.seccomp"),
  "proc.landlock": ordered("proc.landlock"),
  "proc.passHostEnv": ordered("proc.passHostEnv"),
  // Data: a command can set its own variables anyway, and the host's are `proc.passHostEnv`.
  "proc.env": { beyond: () => undefined, within: (wanted) => wanted },
  "proc.commands.allow": {
    beyond: (wanted, usual) => {
      if (usual === null) return undefined;
      return wanted === null ? "all" : nonEmpty(wanted.filter((name) => !usual.includes(name)));
    },
    within: (wanted, usual) => {
      if (usual === null || wanted === null) return usual ?? wanted;
      return wanted.filter((name) => usual.includes(name));
    },
  },
  "proc.commands.deny": denying(itself),
  ...(byPath(({ path }) => ordered(path)) as { readonly [K in NumericPath]: Bound<FieldValues[K]> }),
};

/** Each field in which `wanted` allows more than `usual`. */
export function widerFields(wanted: Policy, usual: Policy): readonly Wider[] {
  return widerValues(fieldsOf(wanted), fieldsOf(usual));
}

/** Where nothing can be reached, what a list names does not count. */
export function widerValues(wanted: FieldValues, usual: FieldValues): readonly Wider[] {
  return fieldPaths.flatMap((field) => {
    if (field === "net.allow" && wanted["net.egress"] === "off") return [];
    const beyond = boundOf(field).beyond(wanted[field], usual[field], usual);
    return beyond === undefined ? [] : [{ field, wanted: beyond, usual: usual[field] }];
  });
}

/** The most of `wanted` that `usual` allows, in every field. */
export function narrowedTo(wanted: FieldValues, usual: FieldValues): FieldValues {
  const entries = fieldPaths.map((field) => [field, boundOf(field).within(wanted[field], usual[field], usual)]);
  const values = Object.fromEntries(entries) as FieldValues;
  return { ...values, "net.allow": allowedWithin(wanted, usual, values) };
}

/** Everything that is public includes what an allowlist names; where the network is off, nothing is allowed. */
function allowedWithin(wanted: FieldValues, usual: FieldValues, within: FieldValues): readonly NetworkRule[] {
  if (within["net.egress"] === "off") return [];
  const isListInstead = wanted["net.egress"] === "on" && usual["net.egress"] === "allowlist";
  const kept = within["net.allow"];
  if (!isListInstead) return kept;
  const known = new Set(kept.map(ruleKey));
  return [...kept, ...usual["net.allow"].filter((rule) => !known.has(ruleKey(rule)))];
}

function boundOf(field: FieldPath): Bound<unknown> {
  return bounds[field] as Bound<unknown>;
}
