/**
 * The files that say what a run may do: the user-wide one, the project's, and the policy file. Finds and reads them.
 * What they mean is for src/config, which is loaded only where there is a file: most runs have none.
 */
import { dirname, isAbsolute, join, resolve } from "node:path";
import type { ConfigFile, SourceFile } from "../config/index.js";
import { isWeakerBackend } from "../core/backend-strength.js";
import { AgentKernelError } from "../core/errors.js";
import { joinedPath } from "../core/joined-path.js";
import type { NetworkRule } from "../core/policy.js";
import type { Surroundings } from "../core/surroundings.js";
import { type AuthorityOrigin, mayWiden } from "../policy/authority.js";
import type { Choice, PolicyInputs, PolicyLayer } from "../policy/layers.js";
import { mostUnder } from "../policy/limits.js";
import { withRealSource } from "./mount-source.js";
import type { NamedFiles } from "./run-spec.js";
import { exists, type FoundFile, pathsOf, sourceOf } from "./steering-files.js";
import { type ProjectTrust, type TrustPart, trustPart, trustRecordOf, voucher } from "./trust/index.js";
import { digestOf } from "./trust/record.js";
import { requestLines, serverLines } from "./trust/requests.js";

export const projectFileName = "agentkernel.toml";
const POLICY_FILE_NAME = "sandbox.policy.yaml";
const USER_WIDE_NAME = "agentkernel/config.toml";

export interface Configuration {
  /** What the files say, joined to what the flags say. */
  readonly combine: (flags: PolicyInputs) => PolicyInputs;
  readonly image: (NonNullable<ConfigFile["image"]> & { readonly by: AuthorityOrigin }) | null;
  readonly backend: ConfigFile["backend"];
  /** A project asks for a weaker backend than the user's, and did not get it. */
  readonly weakerBackend: boolean;
  readonly images: ConfigFile["images"];
  /** Whether images that others than the user name are fetched: not where the user's limits leave no network. */
  readonly fetchesForOthers: boolean;
  readonly audit: ConfigFile["audit"];
  readonly daemon: ConfigFile["daemon"];
  readonly api: ConfigFile["api"];
  /** Absolute paths of the files in use, as named and where they really lie: no sandbox may change them. */
  readonly inUse: readonly string[];
  /** Said on stderr before the run. */
  readonly notes: readonly string[];
  /** What the preset `mcp-servers` stands for in this project. */
  readonly mcpServers: () => { readonly rules: readonly NetworkRule[]; readonly by: AuthorityOrigin };
  /** What the project's own files ask for, and what the user said about it. Null where no file was found at all. */
  readonly trust: ProjectTrust | null;
}

export const noConfiguration: Configuration = {
  combine: (flags) => flags,
  image: null,
  backend: null,
  weakerBackend: false,
  images: {},
  fetchesForOthers: true,
  audit: {},
  daemon: {},
  api: {},
  inUse: [],
  notes: [],
  mcpServers: () => ({ rules: [], by: "project-file" }),
  trust: null,
};

export async function readConfiguration(files: NamedFiles, surroundings: Surroundings): Promise<Configuration> {
  const found = findFiles(files, surroundings);
  const { userWide, project, policy, notes } = found;
  if (userWide === null && project === null && policy === null) return { ...noConfiguration, notes };
  return await understand(found, surroundings);
}

/** What the project in the current directory asks for, whatever else has a say in a run there. */
export async function readProjectTrust(surroundings: Surroundings): Promise<ProjectTrust | null> {
  return (await understand(findFiles({}, surroundings), surroundings)).trust;
}

function findFiles(files: NamedFiles, surroundings: Surroundings): Found {
  const { cwd } = surroundings;
  const userWide = ifThere(userWidePath(surroundings));
  const project = named(files.config, cwd) ?? ifThere(joinedPath(cwd, projectFileName), projectFileName);
  const policy = named(files.policy, cwd);
  const notes = policy === null && exists(joinedPath(cwd, POLICY_FILE_NAME)) ? [unusedPolicyNote] : [];
  const inUse = [userWide, project, policy].filter((file) => file !== null).flatMap(pathsOf);
  return { userWide, project, policy, notes, inUse, isProjectNamed: files.config !== undefined };
}

const unusedPolicyNote = `${POLICY_FILE_NAME} is here but was not named, and has no effect: use --policy ${POLICY_FILE_NAME}`;

interface Found {
  readonly userWide: FoundFile | null;
  readonly project: FoundFile | null;
  readonly policy: FoundFile | null;
  readonly notes: readonly string[];
  readonly inUse: readonly string[];
  /** By the user, on the command line. */
  readonly isProjectNamed: boolean;
}

async function understand(found: Found, surroundings: Surroundings): Promise<Configuration> {
  const { userWide, project, policy, notes, inUse, isProjectNamed } = found;
  const config = await import("../config/index.js");
  const read = async (source: SourceFile | null, owner: "user" | "project"): Promise<ConfigFile | null> => {
    if (source === null) return null;
    const result = await config.readConfigFile(source, owner);
    config.throwFaults(result.faults);
    return result.value;
  };
  const projectSource = project && sourceOf(project);
  const files = {
    userWide: await read(userWide && sourceOf(userWide), "user"),
    project: await read(projectSource, "project"),
    policy: await readPolicy(),
  };
  const record = trustRecordOf(surroundings);
  const part =
    projectSource === null || files.project === null || isProjectNamed
      ? null
      : trustPart(record, "agentkernel.toml", digestOf(projectSource.bytes), requestLines(files.project));
  const projectBy = isProjectNamed ? "named-file" : part === null ? "project-file" : voucher(part);
  const both = [files.userWide, files.project].filter((file) => file !== null);
  const backend = chosenBackend(files.project?.backend, files.userWide?.backend, projectBy);
  return {
    combine: (flags) => config.combine({ ...files, projectBy }, flags),
    image: imageOf(files.project, projectBy) ?? imageOf(files.userWide, "user-file"),
    backend: backend.chosen,
    weakerBackend: backend.notes.length > 0,
    images: Object.assign({}, ...both.map(({ images }) => images)),
    fetchesForOthers: mostUnder("net.egress", "on", files.userWide?.limits ?? []) !== "off",
    audit: files.userWide?.audit ?? {},
    daemon: files.userWide?.daemon ?? {},
    api: files.userWide?.api ?? {},
    inUse,
    notes: [...notes, ...both.flatMap(noEffectNotes), ...backend.notes],
    mcpServers: () => {
      const rules = serverRules();
      return { rules, by: voucher(serverPart(rules)) };
    },
    trust: { dir: record.dir, config: part, servers: () => serverPart(serverRules()) },
  };

  function serverRules(): readonly NetworkRule[] {
    return config.mcpConfigFiles.flatMap((name) => serversIn(name));
  }

  function serverPart(rules: readonly NetworkRule[]): TrustPart {
    return trustPart(record, "mcp-servers", digestOf(JSON.stringify(rules)), serverLines(rules));
  }

  async function readPolicy(): Promise<readonly PolicyLayer[] | null> {
    if (policy === null) return null;
    const result = await config.readPolicyFile(sourceOf(policy), dirname(policy.path));
    config.throwFaults(result.faults);
    return result.value?.map(withRealMounts) ?? null;
  }

  function serversIn(name: string): readonly NetworkRule[] {
    const file = ifThere(join(surroundings.cwd, name), name);
    if (file === null) return [];
    try {
      return config.mcpServerHosts(Buffer.from(sourceOf(file).bytes).toString()).rules;
    } catch (cause) {
      if (!(cause instanceof SyntaxError)) throw cause;
      throw new AgentKernelError("invalid_policy", `${name}: it is not JSON, so its MCP servers are not known`, {
        hint: "correct it, or leave the preset mcp-servers out of the policy",
        cause,
      });
    }
  }
}

function imageOf(file: ConfigFile | null, by: AuthorityOrigin): Configuration["image"] {
  return file?.image ? { ...file.image, by } : null;
}

interface ChosenBackend {
  readonly chosen: Choice<string> | null;
  readonly notes: readonly string[];
}

/** A project chooses among walls that are as strong as the user's own choice; only the user chooses a weaker one. */
function chosenBackend(
  projects: Choice<string> | null | undefined,
  users: Choice<string> | null | undefined,
  by: AuthorityOrigin,
): ChosenBackend {
  if (!projects) return { chosen: users ?? null, notes: [] };
  const usual = users?.name ?? "auto";
  const isFine = mayWiden({ origin: by, name: "" }) || !isWeakerBackend(projects.name, usual);
  if (isFine) return { chosen: projects, notes: [] };
  const note = `${projects.origin} asks for the backend ${projects.name}, which may isolate less than yours (${usual}). Yours holds; to allow it: agentkernel trust`;
  return { chosen: users ?? null, notes: [note] };
}

function withRealMounts(layer: PolicyLayer): PolicyLayer {
  const mounts = layer.fields["fs.mounts"];
  if (mounts === undefined) return layer;
  const real = mounts.map((mount) => withRealSource(layer.origin, mount));
  return { ...layer, fields: { ...layer.fields, "fs.mounts": real } };
}

function noEffectNotes({ withoutEffect }: ConfigFile): readonly string[] {
  return withoutEffect
    .filter(({ concerns }) => concerns === "run")
    .map(({ text }) => `${text} has no effect in this version yet`);
}

/** Null where the variables name no folder that a file could be in. */
export function userWidePath({ env, homeDir }: Surroundings): string | null {
  const { XDG_CONFIG_HOME: configured = "" } = env;
  // A value that is not absolute is to be ignored, by the specification of these variables.
  if (isAbsolute(configured)) return joinedPath(configured, USER_WIDE_NAME);
  return isAbsolute(homeDir) ? joinedPath(homeDir, `.config/${USER_WIDE_NAME}`) : null;
}

function named(name: string | undefined, cwd: string): FoundFile | null {
  if (name === undefined) return null;
  // A name that starts with a dash would read like an option.
  return { name: name.startsWith("-") ? `./${name}` : name, path: resolve(cwd, name) };
}

function ifThere(path: string | null, name = path): FoundFile | null {
  return path !== null && name !== null && exists(path) ? { name, path } : null;
}
