/** Where images come from and are kept, by the environment and the configuration. */
import { AgentKernelError } from "../core/errors.js";
import { imageStoreFolder } from "../core/state-folders.js";
import type { Surroundings } from "../core/surroundings.js";
import { LAYER_LIMITS } from "../images/unpack/limits.js";
import { type ImageSettings, type PullChoice, pullChoices } from "../runtime/root-image.js";
import type { Configuration } from "./configuration.js";

const PULL_VARIABLE = "AGENTKERNEL_PULL";
const MAX_BYTES_VARIABLE = "AGENTKERNEL_LAYER_MAX_BYTES";
const MAX_ENTRIES_VARIABLE = "AGENTKERNEL_LAYER_MAX_ENTRIES";
const MIRRORS_VARIABLE = "AGENTKERNEL_IMAGE_MIRRORS";

export function imageSettings(
  { env, homeDir, cwd }: Surroundings,
  pullStated: PullChoice | undefined,
  configured: Configuration["images"],
): ImageSettings {
  const { disk_ceiling_mb: ceilingMb } = configured;
  return {
    storeRoot: imageStoreFolder(env, homeDir),
    pull: pullStated ?? pullChoice(env[PULL_VARIABLE]),
    mirrors: mirrorWords(env, configured),
    ceilingBytes: ceilingMb === undefined ? null : ceilingMb * 2 ** 20,
    projectDir: cwd,
    layerLimits: {
      maxBytes: limit(env, MAX_BYTES_VARIABLE, LAYER_LIMITS.maxBytes),
      maxEntries: limit(env, MAX_ENTRIES_VARIABLE, LAYER_LIMITS.maxEntries),
    },
    env,
    homeDir,
  };
}

/** The environment's, separated by commas or blanks, then those of the user's file. */
export function mirrorWords(env: Surroundings["env"], configured: Configuration["images"]): readonly string[] {
  const named = (env[MIRRORS_VARIABLE] ?? "").split(/[\s,]+/).filter((word) => word !== "");
  const listed = [...(configured.mirrors ?? [])].flatMap(([registry, hosts]) =>
    hosts.map((host) => `${registry}=${host}`),
  );
  return [...named, ...listed];
}

function pullChoice(named = ""): PullChoice {
  if (named === "") return "missing";
  const choice = pullChoices.find((known) => known === named);
  if (choice !== undefined) return choice;
  throw new AgentKernelError(
    "invalid_argument",
    `${PULL_VARIABLE}: "${named}" is not one of ${pullChoices.join(", ")}`,
    {
      hint: "missing asks a registry only for images that are not here, never asks none",
    },
  );
}

/** Larger values are taken too: a machine with room may have larger images. */
function limit(env: Surroundings["env"], variable: string, usual: number): number {
  const text = env[variable] ?? "";
  if (text === "") return usual;
  const value = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(value) && value > 0) return value;
  throw new AgentKernelError("invalid_argument", `${variable}: "${text}" is not a number above zero`, {
    hint: `leave it out for the usual ${usual}`,
  });
}
