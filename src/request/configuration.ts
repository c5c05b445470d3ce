/**
 * The files that say what a run may do: the user-wide one, the project's, and the policy file. Finds and reads them.
 * What they mean is for src/config, which is loaded only where there is a file: most runs have none.
 */
import { dirname, isAbsolute, join, resolve } from "node:path";
import type { ConfigFile } from "../config/index.js";
import { AgentKernelError } from "../core/errors.js";
import { joinedPath } from "../core/joined-path.js";
import type { NetworkRule } from "../core/policy.js";
import type { Surroundings } from "../core/surroundings.js";
import type { PolicyInputs, PolicyLayer } from "../policy/layers.js";
import { realMountSource } from "./mount-argument.js";
import { exists, type FoundFile, pathsOf, sourceOf } from "./steering-files.js";
import type { Wishes } from "./wishes.js";

export const projectFileName = "agentkernel.toml";
const POLICY_FILE_NAME = "sandbox.policy.yaml";
const USER_WIDE_NAME = "agentkernel/config.toml";

export interface Configuration {
  /** What the files say, joined to what the flags say. */
  readonly combine: (flags: PolicyInputs) => PolicyInputs;
  readonly image: ConfigFile["image"];
  readonly backend: ConfigFile["backend"];
  readonly images: ConfigFile["images"];
  readonly audit: ConfigFile["audit"];
  readonly daemon: ConfigFile["daemon"];
  readonly api: ConfigFile["api"];
  /** Absolute paths of the files in use, as named and where they really lie: no sandbox may change them. */
  readonly inUse: readonly string[];
  /** Said on stderr before the run. */
  readonly notes: readonly string[];
  /** What the preset `mcp-servers` stands for in this project. */
  readonly mcpServers: () => readonly NetworkRule[];
}

export const noConfiguration: Configuration = {
  combine: (flags) => flags,
  image: null,
  backend: null,
  images: {},
  audit: {},
  daemon: {},
  api: {},
  inUse: [],
  notes: [],
  mcpServers: () => [],
};

export async function readConfiguration(parsed: Wishes, surroundings: Surroundings): Promise<Configuration> {
  const { cwd } = surroundings;
  const userWide = ifThere(userWidePath(surroundings));
  const project = named(parsed, "config", cwd) ?? ifThere(joinedPath(cwd, projectFileName), projectFileName);
  const policy = named(parsed, "policy", cwd);
  const notes = policy === null && exists(joinedPath(cwd, POLICY_FILE_NAME)) ? [unusedPolicyNote] : [];
  if (userWide === null && project === null && policy === null) return { ...noConfiguration, notes };
  const found = [userWide, project, policy].filter((file) => file !== null);
  return await understand({ userWide, project, policy, notes, cwd, inUse: found.flatMap(pathsOf) });
}

const unusedPolicyNote = `${POLICY_FILE_NAME} is here but was not named, and has no effect: use --policy ${POLICY_FILE_NAME}`;

interface Found {
  readonly userWide: FoundFile | null;
  readonly project: FoundFile | null;
  readonly policy: FoundFile | null;
  readonly notes: readonly string[];
  readonly cwd: string;
  readonly inUse: readonly string[];
}

async function understand({ userWide, project, policy, notes, cwd, inUse }: Found): Promise<Configuration> {
  const config = await import("../config/index.js");
  const read = async (file: FoundFile | null, owner: "user" | "project"): Promise<ConfigFile | null> => {
    if (file === null) return null;
    const result = await config.readConfigFile(sourceOf(file), owner);
    config.throwFaults(result.faults);
    return result.value;
  };
  const files = {
    userWide: await read(userWide, "user"),
    project: await read(project, "project"),
    policy: await readPolicy(),
  };
  const both = [files.userWide, files.project].filter((file) => file !== null);
  return {
    combine: (flags) => config.combine(files, flags),
    image: files.project?.image ?? files.userWide?.image ?? null,
    backend: files.project?.backend ?? files.userWide?.backend ?? null,
    images: Object.assign({}, ...both.map(({ images }) => images)),
    audit: files.userWide?.audit ?? {},
    daemon: files.userWide?.daemon ?? {},
    api: files.userWide?.api ?? {},
    inUse,
    notes: [...notes, ...both.flatMap(noEffectNotes)],
    mcpServers: () => config.mcpConfigFiles.flatMap((name) => serversIn(name)),
  };

  async function readPolicy(): Promise<readonly PolicyLayer[] | null> {
    if (policy === null) return null;
    const result = await config.readPolicyFile(sourceOf(policy), dirname(policy.path));
    config.throwFaults(result.faults);
    return result.value?.map(withRealMounts) ?? null;
  }

  function serversIn(name: string): readonly NetworkRule[] {
    const file = ifThere(join(cwd, name), name);
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

function withRealMounts(layer: PolicyLayer): PolicyLayer {
  const mounts = layer.fields["fs.mounts"];
  if (mounts === undefined) return layer;
  const real = mounts.map((mount) => ({ ...mount, host: realMountSource(layer.origin, mount.host, mount.host) }));
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

function named(parsed: Wishes, option: string, cwd: string): FoundFile | null {
  const name = parsed.values.get(option)?.[0];
  if (name === undefined) return null;
  // An origin that starts with a dash is a flag.
  return { name: name.startsWith("-") ? `./${name}` : name, path: resolve(cwd, name) };
}

function ifThere(path: string | null, name = path): FoundFile | null {
  return path !== null && name !== null && exists(path) ? { name, path } : null;
}
