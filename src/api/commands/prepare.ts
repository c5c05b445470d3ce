/** The fields of a body into a typed request, and that into one of the runtime, as the command line does it. */
import { isIP } from "node:net";
import { AgentKernelError } from "../../core/errors.js";
import type { Mount, SecretBinding } from "../../core/policy.js";
import type { Surroundings } from "../../core/surroundings.js";
import { checkBinding, DEFAULT_HEADER } from "../../egress/secrets/argument.js";
import { whyBadGuestPath } from "../../policy/mounts.js";
import { parseDomain } from "../../policy/network-rules.js";
import { backendRequest } from "../../request/choices.js";
import {
  type Configuration,
  callersImageSettings,
  preparePolicy,
  prepareRun,
  type RunSpec,
  readConfiguration,
  type SandboxSpec,
  type StandingSpec,
  wantedBackend,
  withStanding,
} from "../../request/index.js";
import { projectFolder } from "../../request/project-folder.js";
import type { PublishedPort } from "../../runtime/published-ports.js";
import { isPlace } from "../../runtime/root-image.js";
import type { RunRequest } from "../../runtime/run-request.js";
import { type ResourceKey, resourceNumbers } from "../../settings/index.js";
import { fieldOf } from "../../settings/wording.js";
import type { Caller } from "../auth/caller.js";
import type { KeyCeiling } from "../auth/key-ceiling.js";
import type { NetworkRequest } from "../operations/fields.js";
import type { RunBody } from "../operations/runs.js";
import type { CreateBody } from "../operations/sandboxes.js";
import { decodeContent } from "./captured.js";
import { backendWithin, ceilingOfCaller, folderWithin, heldToKey, imageWithin } from "./key-limits.js";

export type PolicyBody = Omit<RunBody, "command" | "stdin" | "stdin_encoding" | "encoding"> &
  Pick<CreateBody, "publish">;

/** HTTP callers wait; one that does not say how long waits so long. */
export const DEFAULT_TIMEOUT_MS = 30_000;

/** No file can be here, so no project has a say where none was named. */
const NO_PROJECT = "/proc/self/no-project";

/** On whose behalf something is prepared, and what the user said once for all of it. */
interface Asker {
  readonly caller: Caller;
  readonly own: Pick<Surroundings, "env" | "homeDir">;
  readonly said?: StandingSpec | undefined;
  /** True: the request comes from a model. */
  readonly isModel?: boolean;
}

export async function prepare(command: readonly string[], body: PolicyBody, asker: Asker): Promise<RunRequest> {
  const { caller, said, isModel = false } = asker;
  const { spec, surroundings, configuration } = await understood(command, body, asker);
  const request = imageHeld(withoutPrograms(prepareRun(spec, surroundings, configuration), caller), caller);
  refuseHostModule(request, body, command, caller);
  const isUsers = caller.isTrusted && !isModel;
  if (isUsers || request.image.name === said?.sandbox.image) return request;
  const restrictions = callersImageSettings(request.image, body.image, configuration);
  return { ...request, imageSettings: { ...request.imageSettings, ...restrictions } };
}

function imageHeld(request: RunRequest, caller: Caller): RunRequest {
  const ceiling = ceilingOfCaller(caller);
  if (ceiling === null || request.module !== null) return request;
  return { ...request, image: imageWithin(ceiling, request.image) };
}

/** Programs beside /usr are the user's own, and nobody else is shown what PATH names. */
function withoutPrograms(request: RunRequest, { isTrusted }: Caller): RunRequest {
  if (isTrusted) return request;
  const { programs: _, ...imageSettings } = request.imageSettings;
  return { ...request, imageSettings };
}

/** What the user gives there, whatever is asked for. */
export async function preparedUsual(
  { dir }: Pick<PolicyBody, "dir">,
  asker: Asker,
): Promise<Pick<RunRequest, "policy" | "backend">> {
  const { spec, surroundings, configuration } = await understood([], dir === undefined ? {} : { dir }, asker);
  const { policy } = preparePolicy(spec, surroundings, configuration);
  return { policy, backend: wantedBackend(spec, surroundings, configuration) };
}

async function understood(
  command: readonly string[],
  body: PolicyBody,
  { caller, own, said }: Asker,
): Promise<{
  readonly spec: RunSpec;
  readonly surroundings: Surroundings;
  readonly configuration: Configuration;
}> {
  refuseUnlessTrusted(body, caller);
  const ceiling = ceilingOfCaller(caller);
  const cwd = folderOf(body, ceiling);
  if (body.image?.startsWith(".")) {
    throw new AgentKernelError("invalid_argument", "image is a path that does not start at the root", {
      hint: "write it out: there is no current folder here",
      details: { field: "image" },
    });
  }
  const spec = withStanding(said, specOfBody(command, body, caller));
  const surroundings = { ...own, cwd };
  const configuration = await readConfiguration(spec.files, surroundings);
  if (ceiling === null) return { spec, surroundings, configuration };
  const wanted = wantedBackend(spec, surroundings, configuration);
  const usual = wantedBackend(withoutBackend(spec), surroundings, configuration);
  const backend = backendWithin(ceiling, body.backend, wanted, usual);
  return {
    spec: backend === null ? spec : { ...spec, sandbox: { ...spec.sandbox, backend } },
    surroundings,
    configuration: heldToKey(configuration, ceiling, body),
  };
}

function withoutBackend(spec: RunSpec): RunSpec {
  const { backend: _, ...sandbox } = spec.sandbox;
  return { ...spec, sandbox };
}

function folderOf({ dir }: PolicyBody, ceiling: KeyCeiling | null): string {
  if (dir === undefined) return NO_PROJECT;
  return ceiling === null ? projectFolder({ path: dir, field: "dir" }) : folderWithin(ceiling, dir);
}

/** Somebody who is not the user of this machine names no places of it. */
function refuseUnlessTrusted({ image, ...body }: PolicyBody, { isTrusted }: Caller): void {
  if (isTrusted) return;
  const hint = "use a key with the scope admin, or ask as the same user on the same machine";
  const ofHost = (["mounts", "secrets", "publish"] as const).find((field) => body[field] !== undefined);
  if (ofHost !== undefined) {
    throw new AgentKernelError("forbidden", `${ofHost}: this caller may ask for nothing of the host`, {
      hint,
      details: { field: ofHost },
    });
  }
  if (image !== undefined && image !== "host" && isPlace(image)) {
    throw new AgentKernelError("forbidden", "image: this caller may not name places of the host", {
      hint,
      details: { field: "image" },
    });
  }
}

/** The backend may be the choice of a file or a variable here, so what is called is known only now. */
function refuseHostModule({ module }: RunRequest, { dir }: PolicyBody, [path = ""]: readonly string[], caller: Caller) {
  if (module?.source.kind !== "file") return;
  if (!caller.isTrusted) {
    throw new AgentKernelError("forbidden", "command: this caller may not name modules of the host", {
      hint: "send the module itself in module, or use a key with the scope admin, or ask as the same user on the same machine",
      details: { field: "command" },
    });
  }
  if (dir !== undefined || path.startsWith("/")) return;
  throw new AgentKernelError("invalid_argument", "command: the module is a path that does not start at the root", {
    hint: "write it out, name the folder in dir, or send the module itself in module",
    details: { field: "command" },
  });
}

function specOfBody(argv: readonly string[], body: PolicyBody, { id: caller }: Caller): RunSpec {
  const { lang, module, cwd: workdir } = body;
  return {
    sandbox: sandboxOfBody(body),
    exec: {
      argv,
      caller,
      ...(workdir === undefined ? {} : { workdir }),
      ...(lang === undefined ? {} : { lang }),
      ...(module === undefined ? {} : { module: decodeContent(module, "base64", "module") }),
    },
    files: {},
    nameOf: fieldOf,
  };
}

/** The schema has already held each field to its kind. */
function sandboxOfBody(body: PolicyBody): SandboxSpec {
  const { dir, workspace, image, backend, profile, compatibility_mode: mode, user, env } = body;
  if (dir === undefined && workspace !== undefined && workspace !== "none") {
    throw new AgentKernelError("invalid_argument", "workspace says how dir is shown, and there is no dir", {
      hint: "name the folder in dir, or leave workspace out",
      details: { field: "workspace" },
    });
  }
  const { secrets, mounts, publish } = body;
  const shown = workspace ?? (dir === undefined ? "none" : undefined);
  return {
    ...numbersOfBody(body),
    ...networkOfBody(body.network),
    ...(shown === undefined ? {} : { "fs.workspace.mode": shown }),
    ...(image === undefined ? {} : { image }),
    ...(backend === undefined ? {} : { backend: backendRequest(backend, "backend").name }),
    ...(profile === undefined ? {} : { profile }),
    ...(mode === undefined ? {} : { mode }),
    ...(user === undefined ? {} : { "proc.user": user }),
    ...(env === undefined ? {} : { "proc.env": Object.fromEntries(env) }),
    ...(secrets === undefined ? {} : { "net.secrets": secrets.map((secret) => checkBinding(withHeader(secret))) }),
    ...(mounts === undefined ? {} : { "fs.mounts": mounts.map(mountOf) }),
    ...(publish === undefined ? {} : { publish: publish.map(portOf) }),
  };
}

type Item<K extends "secrets" | "mounts" | "publish"> = NonNullable<PolicyBody[K]>[number];

function withHeader({ name, host, header = DEFAULT_HEADER }: Item<"secrets">): SecretBinding {
  return { name, host, header };
}

function mountOf({ host, guest, readonly = true }: Item<"mounts">): Mount {
  const trimmed = guest.length > 1 ? guest.replace(/\/+$/, "") || "/" : guest;
  const why = whyBadGuestPath(trimmed);
  if (why === null) return { host, guest: trimmed, readonly };
  throw new AgentKernelError("invalid_argument", `mounts: nothing can be mounted at "${guest}": ${why}`, {
    hint: "choose a path of its own, for example /deps",
    details: { field: "mounts", value: guest, reason: why },
  });
}

function portOf({
  address = "127.0.0.1",
  host_port: hostPort = 0,
  guest_port: guestPort,
}: Item<"publish">): PublishedPort {
  if (isIP(address) !== 0) return { address, hostPort, guestPort };
  throw new AgentKernelError("invalid_argument", `publish: "${address}" is not an IP address`, {
    hint: "for example 127.0.0.1, or 0.0.0.0 for every interface",
    details: { field: "publish", value: address, reason: "is not an IP address" },
  });
}

function numbersOfBody({ resources = {}, timeout_ms: timeout }: PolicyBody): SandboxSpec {
  const stated = resourceNumbers.flatMap(({ path, setting }) => {
    const value = resources[setting.key as ResourceKey];
    return value === undefined ? [] : [[path, value]];
  });
  return { ...Object.fromEntries(stated), ...(timeout === undefined ? {} : { "resources.timeoutMs": timeout }) };
}

function networkOfBody(network: NetworkRequest | undefined): SandboxSpec {
  if (network === undefined) return {};
  if (typeof network === "boolean") return { "net.egress": network ? "on" : "off" };
  if (typeof network === "string") return { "net.egress": network };
  const { enabled, allowed_domains: domains } = network;
  if (enabled === false) {
    if (domains === undefined || domains.length === 0) return { "net.egress": "off" };
    throw new AgentKernelError("invalid_argument", "network.enabled false contradicts network.allowed_domains", {
      hint: "leave one of them out",
      details: { field: "network" },
    });
  }
  if (domains === undefined) return { "net.egress": enabled === true ? "on" : "off" };
  // An empty list allows nothing.
  if (domains.length === 0) return { "net.egress": "allowlist" };
  return { "net.allow": domains.map((domain) => ({ domain: parseDomain(fieldOf("net.allow"), domain) })) };
}
