/** A typed request into a policy and, for `run`, into one that the runtime can carry out. All checks that need no sandbox are made here. */
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
import type { Wording } from "../settings/wording.js";
import { BACKEND_VARIABLE, backendRequest, chooseImage } from "./choices.js";
import { type Configuration, noConfiguration } from "./configuration.js";
import { hideOwnFolders, protectInUse } from "./files-in-use.js";
import { refuseHome } from "./home-folders.js";
import { projectImageSettings } from "./image-origin.js";
import { imageSettings } from "./image-settings.js";
import { explainModule, requestedModule } from "./module-request.js";
import { policyNotes } from "./policy-notes.js";
import type { RunSpec } from "./run-spec.js";
import { refuseUnlessShowable } from "./shown-paths.js";
import { policyInputs } from "./spec-layers.js";

/** The policy that this request and the files make here, with everything checked that a run would check. */
export function preparePolicy(
  spec: RunSpec,
  surroundings: Surroundings,
  configuration: Configuration = noConfiguration,
): ResolvedPolicy {
  const backend = wantedBackend(spec, surroundings, configuration);
  if (backend.name === "auto") explainModule(spec.exec.argv[0]);
  workingFolder(spec);
  const resolved = resolveSpec(spec, surroundings, configuration);
  checkShownPaths(resolved, surroundings);
  return backend.name === "wasm" ? { ...resolved, policy: modulePolicy(resolved.policy) } : resolved;
}

export function wantedBackend(
  { sandbox, nameOf }: Pick<RunSpec, "sandbox" | "nameOf">,
  { env }: Pick<Surroundings, "env">,
  configuration: Configuration = noConfiguration,
): BackendRequest {
  if (sandbox.backend !== undefined) return { name: sandbox.backend, origin: nameOf("backend") };
  const { [BACKEND_VARIABLE]: variable = "" } = env;
  if (variable !== "") return backendRequest(variable, BACKEND_VARIABLE);
  return backendRequest(configuration.backend?.name, configuration.backend?.origin);
}

interface KnownPolicy {
  readonly cwd: string;
  readonly env: Surroundings["env"];
  readonly resolved: ResolvedPolicy;
}

/** Of requests that were parsed once and are made again. */
const knownPolicies = new WeakMap<RunSpec, KnownPolicy>();

/** Where no file has a say, the same request in the same place and environment makes the same policy. */
function resolveSpec(spec: RunSpec, surroundings: Surroundings, configuration: Configuration): ResolvedPolicy {
  const { cwd, env } = surroundings;
  const isPure = configuration.combine === noConfiguration.combine && spec.sandbox["fs.mounts"] === undefined;
  const known = isPure ? knownPolicies.get(spec) : undefined;
  if (known?.env === env && known.cwd === cwd) return known.resolved;
  const inputs = configuration.combine(policyInputs(spec));
  const resolved = resolveWhole(inputs, configuration, surroundings);
  // Only what cannot change any more is what it was.
  if (isPure && Object.isFrozen(env)) knownPolicies.set(spec, { cwd, env, resolved });
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
  spec: RunSpec,
  surroundings: Surroundings,
  configuration: Configuration = noConfiguration,
): RunRequest {
  const { sandbox, exec, nameOf } = spec;
  const { tty = false, json = false } = exec;
  if (exec.argv[0] === "" && exec.lang === undefined)
    throw new AgentKernelError("invalid_argument", "the command is an empty word");
  if (tty && json) {
    throw new AgentKernelError("invalid_argument", `${nameOf("tty")} contradicts ${nameOf("json")}`, {
      hint: "a terminal's output is for people; leave one of them out",
    });
  }
  const resolved = preparePolicy(spec, surroundings, configuration);
  const { policy, origins } = resolved;
  const backend = wantedBackend(spec, surroundings, configuration);
  const module = requestedModule(spec, backend.name, surroundings);
  const command = module?.command ?? exec.argv[0];
  if (command !== undefined) refuseUnlessAllowed(command, policy.proc.commands, origins);
  const homeDir = policy.fs.home === "readonly" ? showableHome(surroundings.homeDir) : null;
  const image =
    module === null
      ? checkedImage(wantedImage(spec, surroundings, configuration), policy, surroundings)
      : { name: module.command, why: "the module itself", named: true };
  return {
    argv: module?.argv ?? exec.argv,
    backend,
    module: module?.call ?? null,
    policy,
    origins,
    image,
    imageSettings: {
      ...imageSettings(surroundings, sandbox.pull, configuration.images),
      ...projectImageSettings(image, configuration),
      programs: hostProgramOptions(policy, surroundings, homeDir),
    },
    audit: configuration.audit,
    projectDir: policy.fs.workspace.mode === "none" ? null : surroundings.cwd,
    homeDir,
    workdir: workingFolder(spec),
    hostEnv: surroundings.env,
    publish: sandbox.publish ?? [],
    ask: askWanted(spec, policy),
    tty,
    json,
    notes: [...configuration.notes, ...policyNotes(resolved), ...notesFor(policy, homeDir)],
  };
}

const knownPrograms = new WeakMap<Policy, HostProgramOptions>();

/** What decides about the programs of the host: the caller's own environment, and what is shown anyway. */
function hostProgramOptions(
  policy: Policy,
  { cwd, env, homeDir }: Surroundings,
  shownHome: string | null,
): HostProgramOptions {
  const { fs } = policy;
  const projectDir = fs.workspace.mode === "none" ? null : cwd;
  const known = shownHome === null ? knownPrograms.get(policy) : undefined;
  if (known?.env === env && known.homeDir === homeDir && known.projectDir === projectDir) return known;
  const atOwnPaths = fs.mounts.filter(({ host, guest }) => host === guest).map(({ host }) => host);
  const views = [projectDir, shownHome, ...atOwnPaths].filter((path) => path !== null);
  const options = { env, homeDir, projectDir, views, mounted: fs.mounts.map(({ host }) => host), deny: fs.deny };
  // Only what cannot change any more is what it was.
  if (shownHome === null && Object.isFrozen(policy)) knownPrograms.set(policy, options);
  return options;
}

function askWanted({ exec, nameOf }: RunSpec, { net }: Policy): boolean {
  if (exec.ask !== true) return false;
  if (exec.tty === true || exec.json === true) {
    throw new AgentKernelError(
      "invalid_argument",
      `${nameOf("ask")} contradicts ${nameOf("tty")} and ${nameOf("json")}`,
      {
        hint: "questions need the terminal for themselves; leave one of them out",
      },
    );
  }
  if (net.egress === "off") {
    throw new AgentKernelError("invalid_argument", `${nameOf("ask")} has nothing to ask about: the network is off`, {
      hint: (wording) => `add ${wording.with("net.egress", "allowlist")}`,
    });
  }
  return true;
}

/** Also checked: a name that is no reference is told before anything is started. */
export function wantedImage(
  spec: RunSpec,
  surroundings: Surroundings,
  configuration: Configuration = noConfiguration,
): ImageRequest {
  const request = chooseImage(spec, configuration.image, surroundings);
  if (request.name !== "host" && !isPlace(request.name)) parseReference(request.name);
  return request;
}

/** In a folder that is a whole root nothing is hidden, so it must not be one that holds the user's own files. */
function checkedImage(request: ImageRequest, policy: Policy, { cwd, homeDir }: Surroundings): ImageRequest {
  const folder = rootFolder(request.name, cwd);
  if (folder === null) return request;
  const path = realpathSync(folder);
  const what = `the folder of ${request.why}`;
  refuseUnlessShowable({ what, path, writable: false, readonlyHint: "" }, policy);
  const home = statSync(homeDir, { throwIfNoEntry: false }) === undefined ? homeDir : realpathSync(homeDir);
  if (`${home}/`.startsWith(`${path}/`)) {
    throw new AgentKernelError("policy_denied", `${what} holds your home folder, of which nothing would be hidden`, {
      hint: "name a folder that is a root filesystem and nothing else",
    });
  }
  return { ...request, name: path };
}

function workingFolder({ exec, nameOf }: RunSpec): string | null {
  const { workdir: folder } = exec;
  if (folder === undefined) return null;
  const path = insidePath(folder);
  if (path === null) {
    throw new AgentKernelError("invalid_argument", `${nameOf("workdir")}: "${folder}" is no path in the sandbox`, {
      hint: (wording) =>
        `name a directory of the project, such as ${wording.with("workdir", "src")}, or an absolute path inside the sandbox`,
    });
  }
  return path;
}

function checkShownPaths({ policy, origins }: ResolvedPolicy, { cwd, homeDir }: Surroundings): void {
  const { mode, readonly } = policy.fs.workspace;
  if (mode !== "none") {
    const what = "the current folder";
    const writable = mode !== "copy" && !readonly;
    const readonlyHint = (wording: Wording) =>
      `change to the project's own folder, or use ${wording.with("fs.workspace.mode", "copy")}`;
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
