/**
 * src/policy turns every input (flags, files, mode, profile, defaults) into one immutable Policy and remembers
 * which input set each field. It is pure: it reads no file, no variable and no clock, and nothing else in
 * agentkernel may decide what a sandbox is allowed.
 */
import { AgentKernelError } from "../core/errors.js";
import type { CompatibilityMode, NetworkRule, Policy, ProfileName } from "../core/policy.js";
import type { FieldPath, FieldValues } from "./fields.js";
import { isFlag, orderLayers, type PolicyInputs } from "./layers.js";
import { approvableUnder, isLooserProfile } from "./limits.js";
import { beyondLimit, codeFor, type Merged, mergeLayers, type Narrowing } from "./merge.js";
import { defaultMode } from "./modes.js";
import { defaultProfile } from "./profiles.js";
import { isRootUser } from "./users.js";

export type Origins = Readonly<Record<FieldPath | "profile" | "mode", string>>;

export interface ResolvedPolicy {
  readonly policy: Policy;
  readonly origins: Origins;
  readonly narrowed: readonly Narrowing[];
}

export function resolve(inputs: PolicyInputs): ResolvedPolicy {
  const floor = holdProfile(inputs);
  const { values, origins, narrowed } = mergeLayers(orderLayers(floor.inputs), inputs.limits ?? []);
  expandMcpServers(values, inputs.mcpServers);
  refuseImpossible(values, origins);
  const profile = floor.inputs.profile ?? floor.inputs.baseProfile;
  return deepFreeze({
    policy: toPolicy(profile?.name ?? defaultProfile, inputs.mode?.name ?? defaultMode, values, inputs.limits),
    origins: { profile: profile?.origin ?? "default", mode: inputs.mode?.origin ?? "default", ...origins },
    narrowed: [...floor.narrowed, ...narrowed],
  });
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
function hasLimits({ limits = [], userWide = [], project = [], policyFile = [], flags = [] }: PolicyInputs): boolean {
  return limits.length > 0 || [...userWide, ...project, ...policyFile, ...flags].some((layer) => layer.limits);
}

/** A profile looser than the user's floor: refused where the user names it outright, replaced where a file does. */
function holdProfile(inputs: PolicyInputs): { inputs: PolicyInputs; narrowed: readonly Narrowing[] } {
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
  if (isFlag(asked?.origin)) throw beyondLimit(narrowing);
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
function refuseImpossible(values: FieldValues, origins: Merged["origins"]): void {
  const user = values["proc.user"];
  if (values["proc.noRoot"] && user !== null && isRootUser(user)) {
    const message = `${origins["proc.user"]} asks for user ${user}, but ${origins["proc.noRoot"]} allows no root`;
    throw new AgentKernelError(codeFor(origins["proc.user"]), message, {
      hint: "name another user, or choose the profile moderate",
    });
  }
  if (values["fs.workspace.mode"] === "sync" && values["fs.workspace.readonly"]) {
    const origin = origins["fs.workspace.mode"];
    const message = `${origin} asks for the workspace "sync", but ${origins["fs.workspace.readonly"]} makes the project read-only: there would be nothing to carry over`;
    throw new AgentKernelError(codeFor(origin), message, {
      hint: "use --workspace copy to only read the project, or the profile moderate to change it",
    });
  }
  const overWorkspace = values["fs.mounts"].find((mount) => mount.guest === "/workspace");
  if (overWorkspace && values["fs.workspace.mode"] !== "none") {
    const message = `${origins["fs.mounts"]} mounts ${overWorkspace.host} at /workspace, where the project is`;
    throw new AgentKernelError(codeFor(origins["fs.mounts"]), message, {
      hint: "choose another guest path, or add --workspace none",
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
      tmpMiB: values["fs.tmpMiB"],
      rootReadonly: values["fs.rootReadonly"],
      deny: [...values["fs.deny"], ...values["fs.show"].map((glob) => ({ glob, shows: true as const }))],
      protect: values["fs.protect"],
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
    resources: {
      vcpus: values["resources.vcpus"],
      memoryMiB: values["resources.memoryMiB"],
      pids: values["resources.pids"],
      diskMiB: values["resources.diskMiB"],
      openFiles: values["resources.openFiles"],
      timeoutMs: values["resources.timeoutMs"],
      outputMiB: values["resources.outputMiB"],
    },
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
