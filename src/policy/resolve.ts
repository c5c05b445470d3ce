/**
 * src/policy turns every input (flags, files, mode, profile, defaults) into one immutable Policy and remembers
 * which input set each field. It is pure: it reads no file, no variable and no clock, and nothing else in
 * agentkernel may decide what a sandbox is allowed. Only the user's own words widen a policy: what anybody else asks
 * for counts as far as it lies within what the user alone would get.
 */
import { AgentKernelError } from "../core/errors.js";
import type { CompatibilityMode, NetworkRule, Policy, ProfileName } from "../core/policy.js";
import { numbersIn } from "../settings/index.js";
import { type Authority, mayWiden } from "./authority.js";
import { type FieldPath, type FieldValues, fieldPaths } from "./fields.js";
import { isStated, orderLayers, type PolicyInputs, usualInputs } from "./layers.js";
import { approvableUnder, isLooserProfile } from "./limits.js";
import { type Authorities, beyondLimit, codeFor, mergeLayers, type Narrowing, originText } from "./merge.js";
import { defaultMode } from "./modes.js";
import { defaultProfile } from "./profiles.js";
import { isRootUser } from "./users.js";
import { narrowedTo, widerValues } from "./wider.js";

export type Origins = Readonly<Record<FieldPath | "profile" | "mode", string>>;

/** What somebody other than the user asked for beyond what the user gives. */
export interface Refusal {
  readonly field: FieldPath;
  /** Those who asked: files and lines. */
  readonly by: readonly Authority[];
  /** The value, or of a list the entries, that do not count. */
  readonly asked: unknown;
  readonly held: unknown;
}

export interface ResolvedPolicy {
  readonly policy: Policy;
  readonly origins: Origins;
  readonly authorities: Authorities;
  readonly narrowed: readonly Narrowing[];
  readonly refused: readonly Refusal[];
}

export function resolve(inputs: PolicyInputs): ResolvedPolicy {
  const { usual, ...all } = inputs;
  const asked = merged(all);
  const least = usualInputs(inputs);
  const found = least === null ? { ...asked, refused: [] } : within(asked, merged(least));
  refuseImpossible(found.values, found.authorities);
  const { profile, mode, values, authorities, narrowed, refused } = found;
  const origins = Object.fromEntries(fieldPaths.map((field) => [field, originText(authorities[field])]));
  return deepFreeze({
    policy: toPolicy(profile.name, mode.name, values, inputs.limits),
    origins: { profile: profile.origin, mode: mode.origin, ...origins } as Origins,
    authorities,
    narrowed,
    refused,
  });
}

interface Whole {
  readonly profile: { readonly name: ProfileName; readonly origin: string };
  readonly mode: { readonly name: CompatibilityMode; readonly origin: string };
  readonly values: FieldValues;
  readonly authorities: Authorities;
  readonly narrowed: readonly Narrowing[];
}

function merged(inputs: Omit<PolicyInputs, "usual">): Whole {
  const floor = holdProfile(inputs);
  const { values, authorities, narrowed } = mergeLayers(orderLayers(floor.inputs), inputs.limits ?? []);
  expandMcpServers(values, inputs.mcpServers);
  return {
    profile: floor.inputs.profile ?? floor.inputs.baseProfile ?? { name: defaultProfile, origin: "default" },
    mode: inputs.mode ?? { name: defaultMode, origin: "default" },
    values,
    authorities,
    narrowed: [...floor.narrowed, ...narrowed],
  };
}

/** What all inputs ask for, as far as it lies within what the user alone asks for. */
function within(asked: Whole, usual: Whole): Whole & { readonly refused: readonly Refusal[] } {
  const wider = widerValues(asked.values, usual.values);
  if (wider.length === 0) return { ...asked, refused: [] };
  const values = consistent(narrowedTo(asked.values, usual.values));
  const authorities = { ...asked.authorities };
  for (const { field } of wider) authorities[field] = usual.authorities[field];
  const refused = wider.map(({ field, wanted }) => ({
    field,
    by: othersIn(asked.authorities[field]),
    asked: wanted,
    held: values[field],
  }));
  const isOf = (kind: "profile" | "mode") =>
    refused.some(({ by }) => by.some(({ name }) => name === `${kind} ${asked[kind].name}`));
  return {
    ...asked,
    profile: isOf("profile") ? usual.profile : asked.profile,
    mode: isOf("mode") ? usual.mode : asked.mode,
    values,
    authorities,
    refused,
  };
}

/** The preset `mcp-servers` may be the user's; the names that it stands for are the project's. */
function othersIn(authorities: readonly Authority[]): readonly Authority[] {
  const others = authorities.filter((authority) => !mayWiden(authority));
  return others.length > 0 ? others : [{ origin: "project-file", name: "preset mcp-servers", namedIn: "mcp-servers" }];
}

/** Two parties' narrower values can be ones that no sandbox could have together. */
function consistent(values: FieldValues): FieldValues {
  if (values["fs.workspace.mode"] !== "sync" || !values["fs.workspace.readonly"]) return values;
  return { ...values, "fs.workspace.mode": "copy" };
}

const remembered = new Map<string, ResolvedPolicy>();
/** A process that serves many sees few different inputs. */
const MOST_REMEMBERED = 64;

/** The same; for a process that resolves the same inputs again and again. Policies are frozen, so they can be shared. */
export function resolveAgain(inputs: PolicyInputs): ResolvedPolicy {
  if (hasLimits(inputs)) return resolve(inputs);
  const key = JSON.stringify(inputs);
  const known = remembered.get(key);
  if (known !== undefined) return known;
  const resolved = resolve(inputs);
  if (remembered.size >= MOST_REMEMBERED) remembered.clear();
  remembered.set(key, resolved);
  return resolved;
}

/** What a limit allows is a function, which says nothing of itself: such inputs cannot be compared. */
function hasLimits({
  limits = [],
  usual,
  userWide = [],
  project = [],
  policyFile = [],
  flags = [],
}: PolicyInputs): boolean {
  if (usual !== undefined && hasLimits(usual)) return true;
  return limits.length > 0 || [...userWide, ...project, ...policyFile, ...flags].some((layer) => layer.limits);
}

/** A profile looser than the user's floor: refused where the user names it outright, replaced where a file does. */
function holdProfile(inputs: Omit<PolicyInputs, "usual">): { inputs: PolicyInputs; narrowed: readonly Narrowing[] } {
  const { profileFloor: floor, profile, baseProfile } = inputs;
  if (floor === undefined) return { inputs, narrowed: [] };
  const asked = profile ?? baseProfile;
  const name = asked?.name ?? defaultProfile;
  if (!isLooserProfile(name, floor.name)) return { inputs, narrowed: [] };
  const narrowing: Narrowing = {
    field: "profile",
    askedBy: asked?.origin ?? "default",
    asked: name,
    heldBy: floor.origin,
    held: floor.name,
  };
  if (isStated(asked)) throw beyondLimit(narrowing);
  return { inputs: { ...inputs, [profile ? "profile" : "baseProfile"]: floor }, narrowed: [narrowing] };
}

/** The preset of what the project's own MCP configuration names becomes those names: the policy is then whole. */
function expandMcpServers(values: FieldValues, servers: readonly NetworkRule[] | undefined): void {
  if (servers === undefined) return;
  const expand = (rules: readonly NetworkRule[]) =>
    rules.flatMap((rule) => ("preset" in rule && rule.preset === "mcp-servers" ? servers : [rule]));
  Object.assign(values, { "net.allow": expand(values["net.allow"]), "net.deny": expand(values["net.deny"]) });
}

/** Combinations in which every field is fine by itself, but no sandbox could be both. */
function refuseImpossible(values: FieldValues, authorities: Authorities): void {
  const originOf = (field: FieldPath) => originText(authorities[field]);
  const codeOf = (field: FieldPath) => codeFor(authorities[field]?.[0]);
  const user = values["proc.user"];
  if (values["proc.noRoot"] && user !== null && isRootUser(user)) {
    const message = `${originOf("proc.user")} asks for user ${user}, but ${originOf("proc.noRoot")} allows no root`;
    throw new AgentKernelError(codeOf("proc.user"), message, {
      hint: "name another user, or choose the profile moderate",
    });
  }
  if (values["fs.workspace.mode"] === "sync" && values["fs.workspace.readonly"]) {
    const origin = originOf("fs.workspace.mode");
    const message = `${origin} asks for the workspace "sync", but ${originOf("fs.workspace.readonly")} makes the project read-only: there would be nothing to carry over`;
    throw new AgentKernelError(codeOf("fs.workspace.mode"), message, {
      hint: (wording) =>
        `use ${wording.with("fs.workspace.mode", "copy")} to only read the project, or the profile moderate to change it`,
    });
  }
  const overWorkspace = values["fs.mounts"].find((mount) => mount.guest === "/workspace");
  if (overWorkspace && values["fs.workspace.mode"] !== "none") {
    const message = `${originOf("fs.mounts")} mounts ${overWorkspace.host} at /workspace, where the project is`;
    throw new AgentKernelError(codeOf("fs.mounts"), message, {
      hint: (wording) => `choose another guest path, or add ${wording.with("fs.workspace.mode", "none")}`,
    });
  }
}

function toPolicy(
  profile: ProfileName,
  mode: CompatibilityMode,
  values: FieldValues,
  limits: PolicyInputs["limits"] = [],
): Policy {
  const approvable = approvableUnder(limits);
  return {
    profile,
    mode,
    fs: {
      workspace: { mode: values["fs.workspace.mode"], readonly: values["fs.workspace.readonly"] },
      home: values["fs.home"],
      mounts: values["fs.mounts"],
      ...numbersIn("fs", values),
      rootReadonly: values["fs.rootReadonly"],
      deny: [...values["fs.deny"], ...values["fs.show"].map((glob) => ({ glob, shows: true as const }))],
      protect: values["fs.protect"],
      review: values["fs.review"],
    },
    net: {
      egress: values["net.egress"],
      allow: values["net.allow"],
      deny: values["net.deny"],
      ...(approvable === undefined ? {} : { approvable }),
      secrets: values["net.secrets"],
    },
    proc: {
      user: values["proc.user"],
      noRoot: values["proc.noRoot"],
      capabilities: values["proc.capabilities"],
      seccomp: values["proc.seccomp"],
      landlock: values["proc.landlock"],
      passHostEnv: values["proc.passHostEnv"],
      env: values["proc.env"],
      commands: { allow: values["proc.commands.allow"], deny: values["proc.commands.deny"] },
    },
    resources: numbersIn("resources", values),
  };
}

/** A copy, frozen at every depth: neither the inputs nor the tables they came from can change it later. */
function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  const copy: unknown = Array.isArray(value)
    ? value.map(deepFreeze)
    : Object.fromEntries(Object.entries(value).map(([key, item]) => [key, deepFreeze(item)]));
  return Object.freeze(copy) as T;
}
