/** The fields of a body into a checked request of the runtime, by the same way as the words of a command line. */
import { AgentKernelError } from "../../core/errors.js";
import type { Surroundings } from "../../core/surroundings.js";
import {
  type Configuration,
  callersImageSettings,
  noStandingOptions,
  preparePolicy,
  prepareRun,
  type RequestOptions,
  readConfiguration,
  type StandingOptions,
  wantedBackend,
  withStandingOptions,
} from "../../request/index.js";
import { projectFolder } from "../../request/project-folder.js";
import { isPlace } from "../../runtime/root-image.js";
import type { RunRequest } from "../../runtime/run-request.js";
import { type NumericValues, type ResourceKey, resourceNumbers } from "../../settings/index.js";
import type { Caller } from "../auth/caller.js";
import type { KeyCeiling } from "../auth/key-ceiling.js";
import type { NetworkRequest } from "../operations/fields.js";
import type { RunBody } from "../operations/runs.js";
import { decodeContent } from "./captured.js";
import { backendWithin, ceilingOfCaller, folderWithin, heldToKey, imageWithin } from "./key-limits.js";

export type PolicyBody = Omit<RunBody, "command" | "stdin" | "stdin_encoding" | "encoding">;

/** HTTP callers wait; one that does not say how long waits so long. */
export const DEFAULT_TIMEOUT_MS = 30_000;

/** No file can be here, so no project has a say where none was named. */
const NO_PROJECT = "/proc/self/no-project";

/** On whose behalf something is prepared, and what the user said once for all of it. */
interface Asker {
  readonly caller: Caller;
  readonly own: Pick<Surroundings, "env" | "homeDir">;
  readonly said?: StandingOptions;
  /** True: the request comes from a model. */
  readonly isModel?: boolean;
}

export async function prepare(command: readonly string[], body: PolicyBody, asker: Asker): Promise<RunRequest> {
  const { caller, said = noStandingOptions, isModel = false } = asker;
  const { options, surroundings, configuration } = await understood(command, body, asker);
  const request = imageHeld(withoutPrograms(prepareRun(options, surroundings, configuration), caller), caller);
  refuseHostModule(request, body, command, caller);
  const isUsers = caller.isTrusted && !isModel;
  if (isUsers || request.image.name === said.values.get("image")?.[0]) return request;
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
  const { options, surroundings, configuration } = await understood([], dir === undefined ? {} : { dir }, asker);
  const { policy } = preparePolicy(options, surroundings, configuration);
  return { policy, backend: wantedBackend(options, surroundings, configuration) };
}

async function understood(
  command: readonly string[],
  body: PolicyBody,
  { caller, own, said = noStandingOptions }: Asker,
): Promise<{
  readonly options: RequestOptions;
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
  const options = withModule(withStandingOptions(said, requestOptionsOf(command, body)), body, caller);
  const surroundings = { ...own, cwd };
  const configuration = await readConfiguration(options, surroundings);
  if (ceiling === null) return { options, surroundings, configuration };
  const wanted = wantedBackend(options, surroundings, configuration);
  const usual = wantedBackend(without(options, "backend"), surroundings, configuration);
  const backend = backendWithin(ceiling, body.backend, wanted, usual);
  return {
    options: backend === null ? options : { ...options, values: new Map([...options.values, ["backend", [backend]]]) },
    surroundings,
    configuration: heldToKey(configuration, ceiling, body),
  };
}

function without(options: RequestOptions, option: string): RequestOptions {
  return { ...options, values: new Map([...options.values].filter(([name]) => name !== option)) };
}

function folderOf({ dir }: PolicyBody, ceiling: KeyCeiling | null): string {
  if (dir === undefined) return NO_PROJECT;
  return ceiling === null ? projectFolder({ path: dir, field: "dir" }) : folderWithin(ceiling, dir);
}

/** Somebody who is not the user of this machine names no places of it. */
function refuseUnlessTrusted({ image }: PolicyBody, { isTrusted }: Caller): void {
  if (isTrusted) return;
  const hint = "use a key with the scope admin, or ask as the same user on the same machine";
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

function withModule(options: RequestOptions, { module }: PolicyBody, caller: Caller): RequestOptions {
  return {
    ...options,
    caller: caller.id,
    ...(module === undefined ? {} : { module: decodeContent(module, "base64", "module") }),
  };
}

function requestOptionsOf(command: readonly string[], body: PolicyBody): RequestOptions {
  const values = new Map<string, readonly string[]>();
  const set = (option: string, value: string | undefined) => {
    if (value !== undefined) values.set(option, [value]);
  };
  if (body.dir === undefined && body.workspace !== undefined && body.workspace !== "none") {
    throw new AgentKernelError("invalid_argument", "workspace says how dir is shown, and there is no dir", {
      hint: "name the folder in dir, or leave workspace out",
      details: { field: "workspace" },
    });
  }
  set("workspace", body.workspace ?? (body.dir === undefined ? "none" : undefined));
  set("image", body.image);
  set("backend", body.backend);
  set("lang", body.lang);
  set("profile", body.profile);
  set("compatibility-mode", body.compatibility_mode);
  set("user", body.user);
  set("workdir", body.cwd);
  for (const [option, value] of networkFlags(body.network)) values.set(option, value);
  if (body.env !== undefined)
    values.set(
      "env",
      [...body.env].map(([name, value]) => `${name}=${value}`),
    );
  return { flags: new Set(), values, numbers: numbersOfBody(body), rest: command };
}

function numbersOfBody({ resources = {}, timeout_ms: timeout }: PolicyBody): Partial<NumericValues> {
  const stated = resourceNumbers.flatMap(({ path, setting }) => {
    const value = resources[setting.key as ResourceKey];
    return value === undefined ? [] : [[path, value]];
  });
  return { ...Object.fromEntries(stated), ...(timeout === undefined ? {} : { "resources.timeoutMs": timeout }) };
}

function networkFlags(network: NetworkRequest | undefined): readonly (readonly [string, readonly string[]])[] {
  if (network === undefined) return [];
  if (typeof network === "boolean") return [["network", [network ? "on" : "off"]]];
  if (typeof network === "string") return [["network", [network]]];
  const { enabled, allowed_domains: domains } = network;
  if (enabled === false) {
    if (domains === undefined || domains.length === 0) return [["network", ["off"]]];
    throw new AgentKernelError("invalid_argument", "network.enabled false contradicts network.allowed_domains", {
      hint: "leave one of them out",
      details: { field: "network" },
    });
  }
  if (domains === undefined) return [["network", [enabled === true ? "on" : "off"]]];
  // An empty list allows nothing.
  return domains.length === 0 ? [["network", ["allowlist"]]] : [["allow-domain", domains]];
}
