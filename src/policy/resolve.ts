/**
 * src/policy turns every input (flags, files, mode, profile, defaults) into one immutable Policy and remembers
 * which input set each field. It is pure: it reads no file, no variable and no clock, and nothing else in
 * agentkernel may decide what a sandbox is allowed.
 */
import { AgentKernelError, type ErrorCode } from "../core/errors.js";
import type { Policy } from "../core/policy.js";
import { type FieldPath, type FieldValues, fieldPaths, fieldRules, isFieldPath } from "./fields.js";
import { orderLayers, type PolicyInputs, type PolicyLayer } from "./layers.js";
import { defaultMode } from "./modes.js";
import { nearest } from "./nearest.js";
import { defaultProfile } from "./profiles.js";
import { isRootUser } from "./users.js";

export type Origins = Readonly<Record<FieldPath | "profile" | "mode", string>>;

export interface ResolvedPolicy {
  readonly policy: Policy;
  readonly origins: Origins;
}

export function resolve(inputs: PolicyInputs): ResolvedPolicy {
  const { values, origins } = mergeLayers(orderLayers(inputs));
  refuseImpossible(values, origins);
  return deepFreeze({
    policy: toPolicy(inputs, values),
    origins: {
      profile: inputs.profile?.origin ?? "default",
      mode: inputs.mode?.origin ?? "default",
      ...origins,
    },
  });
}

interface Merged {
  readonly values: FieldValues;
  readonly origins: Readonly<Record<FieldPath, string>>;
}

function mergeLayers(layers: readonly PolicyLayer[]): Merged {
  const values: Partial<Record<FieldPath, unknown>> = {};
  const origins: Partial<Record<FieldPath, string>> = {};
  for (const { origin, fields } of layers) {
    for (const [key, value] of Object.entries(fields)) {
      if (value === undefined) continue;
      const field = checkedField(origin, key, value);
      const join = fieldRules[field].join as ((lower: unknown, higher: unknown) => unknown) | undefined;
      const lower = values[field];
      if (!join || lower === undefined) {
        values[field] = value;
        origins[field] = origin;
      } else if (!isEmpty(value)) {
        values[field] = join(lower, value);
        origins[field] = isEmpty(lower) ? origin : `${origins[field]}, ${origin}`;
      }
    }
  }
  const missing = fieldPaths.find((path) => values[path] === undefined);
  if (missing !== undefined) throw new AgentKernelError("internal", `no layer of the policy sets ${missing}`);
  if (values["net.egress"] === "off") {
    values["net.allow"] = [];
    origins["net.allow"] = origins["net.egress"] ?? "default";
  }
  return { values: values as unknown as FieldValues, origins: origins as Record<FieldPath, string> };
}

function checkedField(origin: string, key: string, value: unknown): FieldPath {
  if (!isFieldPath(key)) {
    const near = nearest(key, fieldPaths);
    const hint = near === null ? `fields are ${fieldPaths.join(", ")}` : `did you mean ${near}?`;
    throw new AgentKernelError(codeFor(origin), `${origin}: there is no field "${key}"`, { hint, details: { key } });
  }
  const why = fieldRules[key].why(value);
  if (why !== null) {
    throw new AgentKernelError(codeFor(origin), `${origin}: ${key} cannot be ${shortJson(value)}: ${why}`, {
      details: { field: key },
    });
  }
  return key;
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

/** Flags are the caller's own words; everything else comes out of a file or a table. */
function codeFor(origin: string): ErrorCode {
  return origin.startsWith("-") ? "invalid_argument" : "invalid_policy";
}

function isEmpty(value: unknown): boolean {
  return value === undefined || (typeof value === "object" && value !== null && Object.keys(value).length === 0);
}

function shortJson(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length <= 80 ? text : `${text.slice(0, 77)}...`;
}

function toPolicy(inputs: PolicyInputs, values: FieldValues): Policy {
  return {
    profile: inputs.profile?.name ?? defaultProfile,
    mode: inputs.mode?.name ?? defaultMode,
    fs: {
      workspace: { mode: values["fs.workspace.mode"], readonly: values["fs.workspace.readonly"] },
      home: values["fs.home"],
      mounts: values["fs.mounts"],
      tmpMiB: values["fs.tmpMiB"],
      rootReadonly: values["fs.rootReadonly"],
      deny: values["fs.deny"],
      protect: values["fs.protect"],
    },
    net: { egress: values["net.egress"], allow: values["net.allow"], deny: values["net.deny"] },
    proc: {
      user: values["proc.user"],
      noRoot: values["proc.noRoot"],
      capabilities: values["proc.capabilities"],
      seccomp: values["proc.seccomp"],
      landlock: values["proc.landlock"],
      passHostEnv: values["proc.passHostEnv"],
      env: values["proc.env"],
    },
    resources: {
      vcpus: values["resources.vcpus"],
      memoryMiB: values["resources.memoryMiB"],
      pids: values["resources.pids"],
      diskMiB: values["resources.diskMiB"],
      openFiles: values["resources.openFiles"],
      timeoutMs: values["resources.timeoutMs"],
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
