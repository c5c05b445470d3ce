/** Options into a policy and, for `run`, into a whole request. All checks that need no sandbox are made here. */
import { realpathSync, statSync } from "node:fs";
import type { BackendRequest } from "../core/backend-request.js";
import { AgentKernelError } from "../core/errors.js";
import { insidePath } from "../core/inside-path.js";
import type { Policy } from "../core/policy.js";
import type { Surroundings } from "../core/surroundings.js";
import { parseReference } from "../images/reference.js";
import { refuseUnlessAllowed } from "../policy/commands.js";
import type { PolicyInputs } from "../policy/layers.js";
import { modulePolicy } from "../policy/modules.js";
import { type ResolvedPolicy, resolveAgain } from "../policy/resolve.js";
import type { HostProgramOptions } from "../runtime/host-programs/options.js";
import { type ImageRequest, isPlace, rootFolder } from "../runtime/root-image.js";
import type { RunRequest } from "../runtime/run-request.js";
import { BACKEND_VARIABLE, backendRequest, chooseImage } from "./choices.js";
import { type Configuration, noConfiguration } from "./configuration.js";
import { hideOwnFolders, protectInUse } from "./files-in-use.js";
import { refuseHome } from "./home-folders.js";
import { projectImageSettings } from "./image-origin.js";
import { imageSettings } from "./image-settings.js";
import { explainModule, requestedModule } from "./module-request.js";
import { parseMount } from "./mount-argument.js";
import { policyInputs } from "./policy-flags.js";
import { policyNotes } from "./policy-notes.js";
import { parsePublished } from "./publish-argument.js";
import type { RequestOptions } from "./request-options.js";
import { refuseUnlessShowable } from "./shown-paths.js";

/** The policy that these options and files make here, with everything checked that a run would check. */
export function preparePolicy(
  parsed: RequestOptions,
  surroundings: Surroundings,
  configuration: Configuration = noConfiguration,
): ResolvedPolicy {
  const backend = wantedBackend(parsed, surroundings, configuration);
  if (backend.name === "auto") explainModule(parsed.rest[0]);
  workingFolder(parsed);
  const resolved = resolveOptions(parsed, surroundings, configuration);
  checkShownPaths(resolved, surroundings);
  return backend.name === "wasm" ? { ...resolved, policy: modulePolicy(resolved.policy) } : resolved;
}

export function wantedBackend(
  parsed: RequestOptions,
  { env }: Pick<Surroundings, "env">,
  configuration: Configuration = noConfiguration,
): BackendRequest {
  const named = parsed.values.get("backend")?.[0];
  if (named !== undefined) return backendRequest(named);
  const { [BACKEND_VARIABLE]: variable = "" } = env;
  if (variable !== "") return backendRequest(variable, BACKEND_VARIABLE);
  return backendRequest(configuration.backend?.name, configuration.backend?.origin);
}

interface KnownPolicy {
  readonly cwd: string;
  readonly env: Surroundings["env"];
  readonly resolved: ResolvedPolicy;
}

/** Of options that were understood once and are asked for again. */
const knownPolicies = new WeakMap<RequestOptions, KnownPolicy>();

/** Where no file has a say, the same options in the same place and environment make the same policy. */
function resolveOptions(
  parsed: RequestOptions,
  surroundings: Surroundings,
  configuration: Configuration,
): ResolvedPolicy {
  const { cwd, env } = surroundings;
  const isPure = configuration.combine === noConfiguration.combine && !parsed.values.has("mount");
  const known = isPure ? knownPolicies.get(parsed) : undefined;
  if (known?.env === env && known.cwd === cwd) return known.resolved;
  const mounts = (parsed.values.get("mount") ?? []).map((text) => parseMount(text, cwd));
  const inputs = configuration.combine(policyInputs(parsed, mounts, env));
  const resolved = resolveWhole(inputs, configuration, surroundings);
  // Only what cannot change any more is what it was.
  if (isPure && Object.isFrozen(env)) knownPolicies.set(parsed, { cwd, env, resolved });
  return resolved;
}

/** Twice where it must: what is shown writable, and whether MCP servers matter, is known only from a policy. */
function resolveWhole(inputs: PolicyInputs, configuration: Configuration, surroundings: Surroundings): ResolvedPolicy {
  const first = resolveAgain(inputs);
  const { net } = first.policy;
  const protecting = [
    ...protectInUse(configuration.inUse, surroundings.cwd, first.policy),
    ...hideOwnFolders(surroundings, first.policy),
  ];
  const isAboutMcp = [...net.allow, ...net.deny].some((rule) => "preset" in rule && rule.preset === "mcp-servers");
  if (protecting.length === 0 && !isAboutMcp) return first;
  return resolveAgain({
    ...inputs,
    policyFile: [...(inputs.policyFile ?? []), ...protecting],
    ...(isAboutMcp ? mcpInputs(configuration) : {}),
  });
}

function mcpInputs({ mcpServers }: Configuration): Pick<PolicyInputs, "mcpServers" | "mcpServersBy"> {
  const { rules, by } = mcpServers();
  return { mcpServers: rules, mcpServersBy: by };
}

export function prepareRun(
  parsed: RequestOptions,
  surroundings: Surroundings,
  configuration: Configuration = noConfiguration,
): RunRequest {
  const json = parsed.flags.has("json");
  const tty = parsed.flags.has("tty");
  if (parsed.rest[0] === "" && !parsed.values.has("lang"))
    throw new AgentKernelError("invalid_argument", "the command is an empty word");
  if (tty && json) {
    throw new AgentKernelError("invalid_argument", "--tty contradicts --json", {
      hint: "a terminal's output is for people; leave one of them out",
    });
  }
  const resolved = preparePolicy(parsed, surroundings, configuration);
  const { policy, origins } = resolved;
  const backend = wantedBackend(parsed, surroundings, configuration);
  const module = requestedModule(parsed, backend.name, surroundings);
  const command = module?.command ?? parsed.rest[0];
  if (command !== undefined) refuseUnlessAllowed(command, policy.proc.commands, origins);
  const homeDir = policy.fs.home === "readonly" ? showableHome(surroundings.homeDir) : null;
  const image =
    module === null
      ? checkedImage(wantedImage(parsed, surroundings, configuration), policy, surroundings)
      : { name: module.command, why: "the module itself", named: true };
  return {
    argv: module?.argv ?? parsed.rest,
    backend,
    module: module?.call ?? null,
    policy,
    origins,
    image,
    imageSettings: {
      ...imageSettings(surroundings, parsed.values.get("pull")?.[0], configuration.images),
      ...projectImageSettings(image, configuration),
      programs: hostProgramOptions(policy, surroundings, homeDir),
    },
    audit: configuration.audit,
    projectDir: policy.fs.workspace.mode === "none" ? null : surroundings.cwd,
    homeDir,
    workdir: workingFolder(parsed),
    hostEnv: surroundings.env,
    publish: (parsed.values.get("publish") ?? []).map(parsePublished),
    ask: askWanted(parsed, policy),
    tty,
    json,
    notes: [...configuration.notes, ...policyNotes(resolved), ...notesFor(policy, homeDir)],
  };
}

/** What decides about the programs of the host: the caller's own environment, and what is shown anyway. */
function hostProgramOptions(
  { fs }: Policy,
  { cwd, env, homeDir }: Surroundings,
  shownHome: string | null,
): HostProgramOptions {
  const projectDir = fs.workspace.mode === "none" ? null : cwd;
  const atOwnPaths = fs.mounts.filter(({ host, guest }) => host === guest).map(({ host }) => host);
  const views = [projectDir, shownHome, ...atOwnPaths].filter((path) => path !== null);
  return { env, homeDir, projectDir, views, mounted: fs.mounts.map(({ host }) => host), deny: fs.deny };
}

function askWanted(parsed: RequestOptions, { net }: Policy): boolean {
  if (!parsed.flags.has("ask")) return false;
  if (parsed.flags.has("tty") || parsed.flags.has("json")) {
    throw new AgentKernelError("invalid_argument", "--ask contradicts --tty and --json", {
      hint: "questions need the terminal for themselves; leave one of them out",
    });
  }
  if (net.egress === "off") {
    throw new AgentKernelError("invalid_argument", "--ask has nothing to ask about: the network is off", {
      hint: "add --network allowlist",
    });
  }
  return true;
}

/** Also checked: a name that is no reference is told before anything is started. */
export function wantedImage(
  parsed: RequestOptions,
  surroundings: Surroundings,
  configuration: Configuration = noConfiguration,
): ImageRequest {
  const request = chooseImage(parsed.values.get("image")?.[0], configuration.image, parsed.rest, surroundings);
  if (request.name !== "host" && !isPlace(request.name)) parseReference(request.name);
  return request;
}

/** In a folder that is a whole root nothing is hidden, so it must not be one that holds the user's own files. */
function checkedImage(request: ImageRequest, policy: Policy, { cwd, homeDir }: Surroundings): ImageRequest {
  const folder = rootFolder(request.name, cwd);
  if (folder === null) return request;
  const path = realpathSync(folder);
  const what = "the folder of --image";
  refuseUnlessShowable({ what, path, writable: false, readonlyHint: "" }, policy);
  const home = statSync(homeDir, { throwIfNoEntry: false }) === undefined ? homeDir : realpathSync(homeDir);
  if (`${home}/`.startsWith(`${path}/`)) {
    throw new AgentKernelError("policy_denied", `${what} holds your home folder, of which nothing would be hidden`, {
      hint: "name a folder that is a root filesystem and nothing else",
    });
  }
  return { ...request, name: path };
}

function workingFolder(parsed: RequestOptions): string | null {
  const folder = parsed.values.get("workdir")?.[0];
  if (folder === undefined) return null;
  const path = insidePath(folder);
  if (path === null) {
    throw new AgentKernelError("invalid_argument", `--workdir: "${folder}" is no path in the sandbox`, {
      hint: "name a directory of the project, such as --workdir src, or an absolute path inside the sandbox",
    });
  }
  return path;
}

function checkShownPaths({ policy, origins }: ResolvedPolicy, { cwd, homeDir }: Surroundings): void {
  const { mode, readonly } = policy.fs.workspace;
  if (mode !== "none") {
    const what = "the current folder";
    const writable = mode !== "copy" && !readonly;
    const readonlyHint = "change to the project's own folder, or use --workspace copy";
    refuseUnlessShowable({ what, path: cwd, writable, readonlyHint }, policy);
    if (writable) refuseHome({ what, path: cwd, hint: readonlyHint }, homeDir);
  }
  for (const { host, readonly: isReadonly } of policy.fs.mounts) {
    const what = `the source of ${origins["fs.mounts"]}`;
    const readonlyHint = "add :ro to the mount to only show it";
    refuseUnlessShowable({ what, path: host, writable: !isReadonly, readonlyHint }, policy);
    if (!isReadonly) refuseHome({ what, path: host, hint: readonlyHint }, homeDir);
  }
}

function showableHome(homeDir: string): string | null {
  if (!homeDir.startsWith("/") || homeDir === "/") return null;
  return statSync(homeDir, { throwIfNoEntry: false })?.isDirectory() ? homeDir : null;
}

function notesFor(policy: Policy, homeDir: string | null): readonly string[] {
  const notes: string[] = [];
  if (policy.fs.home === "readonly" && homeDir === null) {
    notes.push("there is no home folder that could be shown: the sandbox has none");
  }
  return notes;
}
