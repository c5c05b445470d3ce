/**
 * A request of somebody who is not the user of this machine, held to what their key may ask for. What they name beyond
 * it is refused; defaults, profiles and modes count as far as they lie within.
 */
import { realpathSync } from "node:fs";
import { resolve } from "node:path";
import type { BackendRequest } from "../../core/backend-request.js";
import { isWeakerBackend } from "../../core/backend-strength.js";
import { AgentKernelError } from "../../core/errors.js";
import type { NetworkRule } from "../../core/policy.js";
import type { PolicyLayer } from "../../policy/layers.js";
import { atMostFields, type Limit, onlyWithin } from "../../policy/limits.js";
import type { Configuration } from "../../request/index.js";
import { projectFolder } from "../../request/project-folder.js";
import { type ImageRequest, isPlace } from "../../runtime/root-image.js";
import { resourceNumbers } from "../../settings/index.js";
import type { Caller } from "../auth/caller.js";
import { isImageWithin, isPortIn, type KeyCeiling, smallCeiling } from "../auth/key-ceiling.js";
import type { RunBody } from "../operations/runs.js";
import type { CreateBody } from "../operations/sandboxes.js";

/**
 * What holds each field of a request to the key. A field that is not here does not compile.
 * - `policy`: it sets fields of the policy, which have limits.
 * - `checked`: a function of this file looks at it.
 * - `data`: it is passed into the sandbox or shapes the answer, and opens nothing.
 */
export const keyRules = {
  profile: "policy",
  compatibility_mode: "policy",
  network: "policy",
  resources: "policy",
  user: "policy",
  workspace: "policy",
  image: "checked",
  backend: "checked",
  dir: "checked",
  // Refused to everybody else than the user, in prepare.ts.
  mounts: "checked",
  secrets: "checked",
  publish: "checked",
  timeout_ms: "checked",
  // A file of the host is refused in prepare.ts.
  command: "checked",
  ttl: "data",
  idle_timeout: "data",
  module: "data",
  lang: "data",
  name: "data",
  start: "data",
  env: "data",
  cwd: "data",
  stdin: "data",
  stdin_encoding: "data",
  encoding: "data",
} as const satisfies Readonly<Record<keyof RunBody | keyof CreateBody, "policy" | "checked" | "data">>;

/** Null for the user. */
export function ceilingOfCaller({ isTrusted, ceiling }: Pick<Caller, "isTrusted" | "ceiling">): KeyCeiling | null {
  return isTrusted ? null : (ceiling ?? smallCeiling);
}

const ORIGIN = "this key's ceiling";

function refuse(field: string, why: string, option: string): AgentKernelError {
  return new AgentKernelError("forbidden", `${field}: ${why}`, {
    hint: `ask for less, or use a key that may: agentkernel keys create ${option}`,
    details: { field },
  });
}

const OTHERS = "what callers over the network may";

/** What the user shows to sandboxes of their own stays hidden from others. */
const hidesAll: Limit = {
  origin: OTHERS,
  field: "fs.show",
  narrow: (value) => (Array.isArray(value) && value.length === 0 ? value : []),
};

/** Whatever a profile or the user's own file would show of the machine stays hidden from others, too. */
export function heldToKey(
  configuration: Configuration,
  ceiling: KeyCeiling,
  { dir, network }: Pick<RunBody, "dir" | "network">,
): Configuration {
  const limits = [
    ...atMostFields(
      { "fs.workspace.mode": dir !== undefined ? "copy" : "none", "fs.home": "none", "proc.passHostEnv": false },
      OTHERS,
    ),
    hidesAll,
    ...limitsOfKey(ceiling),
  ];
  return {
    ...configuration,
    combine: (flags) => {
      const inputs = configuration.combine(flags);
      // Who asks for a network gets that and no more of the key's.
      const userWide = [...(network === undefined ? usualOfKey(ceiling) : []), ...(inputs.userWide ?? [])];
      return { ...inputs, userWide, limits: [...(inputs.limits ?? []), ...limits] };
    },
  };
}

function domainRules({ domains }: KeyCeiling): readonly NetworkRule[] {
  return domains.map((domain) => ({ domain }));
}

function limitsOfKey(ceiling: KeyCeiling): readonly Limit[] {
  const ofNumbers = resourceNumbers.map(
    ({ path, name, setting }) => [{ [path]: ceiling[name] }, `--${setting.flag}`] as const,
  );
  const ofField = [...ofNumbers, [{ "net.egress": ceiling.network }, "--network on"] as const];
  const limits = ofField.flatMap(([fields, option]) => withRemedy(atMostFields(fields, ORIGIN), option));
  if (ceiling.network === "on") return limits;
  return [...limits, ...withRemedy([onlyWithin(domainRules(ceiling), ORIGIN)], "--allow-domain")];
}

function withRemedy(limits: readonly Limit[], option: string): readonly Limit[] {
  const remedy = `ask for less, or use a key that may: agentkernel keys create ${option}`;
  return limits.map((limit) => ({ ...limit, remedy }));
}

/** Who asks for nothing reaches the domains of the key, not nothing at all. */
function usualOfKey(ceiling: KeyCeiling): readonly PolicyLayer[] {
  if (ceiling.network !== "allowlist") return [];
  return [{ origin: "this key", fields: { "net.egress": "allowlist", "net.allow": domainRules(ceiling) } }];
}

/** The backend that the key's requests get; null: what is wanted anyway. `asked`: the request names one. */
export function backendWithin(
  { backends }: KeyCeiling,
  asked: string | undefined,
  wanted: BackendRequest,
  usual: BackendRequest,
): BackendRequest["name"] | null {
  if (backends === null) {
    if (!isWeakerBackend(wanted.name, usual.name)) return null;
    throw refuse("backend", `${wanted.name} may isolate less than ${usual.name}`, `--backend ${wanted.name}`);
  }
  const isListed = backends.some((name) => name === wanted.name);
  if (isListed) return null;
  const [first] = backends;
  if (asked === undefined && first !== undefined) return first;
  throw refuse("backend", `this key may use ${backends.join(", ") || "none"}`, `--backend ${wanted.name}`);
}

/** One that was found by the command or the project counts as named: no other takes its place. */
export function imageWithin({ images }: KeyCeiling, request: ImageRequest): ImageRequest {
  if (images === null) return request;
  if (isPlace(request.name) || !isImageWithin(request.name, images)) {
    throw refuse("image", `this key may not use ${request.name}: its images are ${images.join(", ")}`, "--image");
  }
  return { ...request, named: true };
}

/** A key reaches servers inside its sandboxes at the ports that its ceiling names, which are none unless it says so. */
export function portWithin(caller: Pick<Caller, "isTrusted" | "ceiling">, port: number): void {
  const ceiling = ceilingOfCaller(caller);
  if (ceiling === null || ceiling.ports.some((range) => isPortIn(port, range))) return;
  const most = ceiling.ports.length === 0 ? "no port" : `only the ports ${ceiling.ports.join(", ")}`;
  throw refuse("port", `this key may reach ${most} of a sandbox`, `--port ${port}`);
}

/** Absolute and free of links. Nothing is told of folders that are not the key's. */
export function folderWithin({ dirs }: KeyCeiling, path: string): string {
  const lies = (below: string) => dirs.some((dir) => dir === "/" || `${below}/`.startsWith(`${dir}/`));
  if (lies(realOf(resolve(path)))) {
    const real = projectFolder({ path, field: "dir" });
    if (lies(real)) return real;
  }
  const hint = "use a key that may: agentkernel keys create --dir DIR, or ask as the same user on the same machine";
  throw new AgentKernelError("forbidden", "dir: this caller may not name this folder of the host", {
    hint,
    details: { field: "dir" },
  });
}

function realOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    // One that is not there is told where the key may look.
    return path;
  }
}

/**
 * How long a command of this caller's may take: what is asked for, else the sandbox's own limit, else `usual`. Nothing
 * is longer than the sandbox's own and the key's. Null: for ever.
 */
export function timeWithin(
  caller: Pick<Caller, "isTrusted" | "ceiling">,
  { asked, own, usual }: TimeRequest,
): number | null {
  const most = ceilingOfCaller(caller)?.timeoutMs ?? Number.POSITIVE_INFINITY;
  if (asked !== undefined && asked > most) {
    throw refuse("timeout_ms", `${asked} is more than ${ORIGIN} allows (${most})`, "--timeout");
  }
  const least = Math.min(asked ?? own ?? usual ?? Number.POSITIVE_INFINITY, own ?? Number.POSITIVE_INFINITY, most);
  return least === Number.POSITIVE_INFINITY ? null : least;
}

interface TimeRequest {
  readonly asked: number | undefined;
  /** Of the sandbox. */
  readonly own: number | null;
  readonly usual: number | null;
}
