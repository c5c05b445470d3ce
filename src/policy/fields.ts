/**
 * Every field that a layer can set, what it accepts and how two layers that set it are joined. Flags, files, modes
 * and profiles all speak in these; a key that is not here does not exist.
 */
import {
  type EgressMode,
  egressModes,
  type FilesystemPolicy,
  type HideRule,
  hiddenContents,
  type Mount,
  type NetworkRule,
  type ProcessPolicy,
  type SecretBinding,
  type WorkspaceMode,
  workspaceModes,
} from "../core/policy.js";
import { byPath, type NumericPath, type NumericValues } from "../settings/index.js";
import { allowedByBoth, whyInvalidCommandName } from "./commands.js";
import { whyInvalidGlob } from "./glob.js";
import { hideRuleKey } from "./hidden.js";
import { duplicateGuestPath, whyInvalidMount } from "./mounts.js";
import { ruleKey, whyInvalidRule } from "./network-rules.js";
import { inRange, type Range, ranges } from "./resources.js";
import { joinSecrets, whyInvalidSecret } from "./secrets.js";
import { isValidUser } from "./users.js";

export interface FieldValues extends NumericValues {
  readonly "fs.workspace.mode": WorkspaceMode;
  readonly "fs.workspace.readonly": boolean;
  readonly "fs.home": FilesystemPolicy["home"];
  readonly "fs.mounts": readonly Mount[];
  readonly "fs.rootReadonly": boolean;
  readonly "fs.deny": readonly HideRule[];
  /** Paths that the user wants to see although built-in rules hide them. Only the user's own words set it. */
  readonly "fs.show": readonly string[];
  readonly "fs.protect": readonly string[];
  readonly "fs.review": readonly string[];
  readonly "net.egress": EgressMode;
  readonly "net.allow": readonly NetworkRule[];
  readonly "net.deny": readonly NetworkRule[];
  readonly "net.secrets": readonly SecretBinding[];
  readonly "proc.user": string | null;
  readonly "proc.noRoot": boolean;
  readonly "proc.capabilities": ProcessPolicy["capabilities"];
  readonly "proc.seccomp": ProcessPolicy["seccomp"];
  readonly "proc.landlock": ProcessPolicy["landlock"];
  readonly "proc.passHostEnv": boolean;
  readonly "proc.env": Readonly<Record<string, string>>;
  readonly "proc.commands.allow": readonly string[] | null;
  readonly "proc.commands.deny": readonly string[];
}

export type FieldPath = keyof FieldValues;
export type PolicyFields = Partial<FieldValues>;

interface FieldRule<T> {
  /** Why the value is not one of this field, or null where it is. */
  readonly why: (value: unknown) => string | null;
  /** Joins the value of a higher layer to that of the lower ones. Without it the higher one replaces. */
  readonly join?: (lower: T, higher: T) => T;
  /** An empty list says something here: nothing at all. Elsewhere it adds nothing, and names no origin. */
  readonly isEmptyMeant?: true;
}

export const fieldRules: { readonly [K in FieldPath]: FieldRule<FieldValues[K]> } = {
  "fs.workspace.mode": oneOf(workspaceModes),
  "fs.workspace.readonly": boolean(),
  "fs.home": oneOf(["none", "readonly"]),
  "fs.mounts": { why: whyInvalidMounts, join: joinMounts },
  "fs.rootReadonly": boolean(),
  "fs.deny": listOf(whyInvalidHideRule, hideRuleKey),
  "fs.show": listOf(whyNotGlob, (glob) => glob),
  "fs.protect": listOf(whyNotGlob, (glob) => glob),
  "fs.review": listOf(whyNotGlob, (glob) => glob),
  "net.egress": oneOf(egressModes),
  "net.allow": listOf(whyInvalidRule, ruleKey),
  "net.deny": listOf(whyInvalidRule, ruleKey),
  "net.secrets": { ...listOf(whyInvalidSecret, (secret: SecretBinding) => secret.name), join: joinSecrets },
  "proc.user": { why: whyInvalidUser },
  "proc.noRoot": boolean(),
  "proc.capabilities": oneOf(["default", "none"]),
  "proc.seccomp": oneOf(["default", "strict"]),
  "proc.landlock": oneOf(["default", "workspace"]),
  "proc.passHostEnv": boolean(),
  "proc.env": { why: whyInvalidEnv, join: (lower, higher) => ({ ...lower, ...higher }) },
  "proc.commands.allow": {
    why: (value) => (value === null ? null : commandNames().why(value)),
    join: allowedByBoth,
    isEmptyMeant: true,
  },
  "proc.commands.deny": commandNames(),
  ...numericRules(),
};

export const fieldPaths = Object.keys(fieldRules) as readonly FieldPath[];

export function isFieldPath(key: string): key is FieldPath {
  return Object.hasOwn(fieldRules, key);
}

function oneOf<T extends string>(values: readonly T[]): FieldRule<T> {
  const known = new Set<unknown>(values);
  return { why: (value) => (known.has(value) ? null : `it is not one of ${values.join(", ")}`) };
}

function boolean(): FieldRule<boolean> {
  return { why: (value) => (typeof value === "boolean" ? null : "it is neither true nor false") };
}

/** A setting whose default is null may be null: no limit. */
function numericRules() {
  const rules = byPath(({ path, setting }) => ({
    why: (value: unknown) => (value === null && setting.default === null ? null : whyNotNumber(value, ranges[path])),
  }));
  return rules as { readonly [K in NumericPath]: FieldRule<FieldValues[K]> };
}

function whyNotNumber(value: unknown, range: Range): string | null {
  const kind = range.whole ? "whole number" : "number";
  return typeof value === "number" && inRange(value, range) ? null : `it is not a ${kind} of ${range.text}`;
}

/** Lists grow from layer to layer, and what is in one is never taken out by another. */
function listOf<T>(whyNot: (item: unknown) => string | null, key: (item: T) => string): FieldRule<readonly T[]> {
  return {
    why: (value) => (Array.isArray(value) ? firstReason(value, whyNot) : "it is not a list"),
    join: (lower, higher) => [...new Map([...lower, ...higher].map((item) => [key(item), item])).values()],
  };
}

function commandNames(): FieldRule<readonly string[]> {
  return listOf(whyInvalidCommandName, (name) => name);
}

function firstReason(items: readonly unknown[], whyNot: (item: unknown) => string | null): string | null {
  for (const item of items) {
    const why = whyNot(item);
    if (why !== null) return why;
  }
  return null;
}

function whyInvalidMounts(value: unknown): string | null {
  if (!Array.isArray(value)) return "it is not a list";
  const why = firstReason(value, whyInvalidMount);
  if (why !== null) return why;
  const twice = duplicateGuestPath(value as readonly Mount[]);
  return twice === null ? null : `two mounts share the guest path ${twice}`;
}

function joinMounts(lower: readonly Mount[], higher: readonly Mount[]): readonly Mount[] {
  const replaced = new Set(higher.map((mount) => mount.guest));
  return [...lower.filter((mount) => !replaced.has(mount.guest)), ...higher];
}

function whyNotGlob(value: unknown): string | null {
  if (typeof value !== "string") return "a glob is not a text";
  const why = whyInvalidGlob(value);
  return why === null ? null : `"${value}" is not a glob: ${why}`;
}

function whyInvalidHideRule(value: unknown): string | null {
  if (typeof value !== "object" || value === null) return "a rule is not an object";
  const { glob, holds, reason, ...rest } = value as Readonly<Record<string, unknown>>;
  const [extra] = Object.keys(rest);
  if (extra !== undefined) return `a rule has no key "${extra}"`;
  if (holds !== undefined && !hiddenContents.some((content) => content === holds)) {
    return `holds is not one of ${hiddenContents.join(", ")}`;
  }
  if (reason !== undefined && (typeof reason !== "string" || reason === "")) return "reason is not a text";
  return whyNotGlob(glob);
}

function whyInvalidUser(value: unknown): string | null {
  if (value === null || (typeof value === "string" && isValidUser(value))) return null;
  return "it is not a user: name, uid, name:group or uid:gid";
}

const ENV_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

export function isEnvName(name: string): boolean {
  return ENV_NAME.test(name);
}

function whyInvalidEnv(value: unknown): string | null {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return "it is not a table of names and values";
  for (const [name, text] of Object.entries(value)) {
    if (!isEnvName(name)) return `"${name}" is not a name of a variable`;
    if (typeof text !== "string") return `the value of ${name} is not a text`;
    if (text.includes("\0")) return `the value of ${name} has a NUL character`;
  }
  return null;
}
