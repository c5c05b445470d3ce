/** Where images come from and are kept, by the environment and the configuration. */
import { AgentKernelError } from "../core/errors.js";
import { imageStoreFolder } from "../core/state-folders.js";
import { DEFAULT_REGISTRY } from "../images/reference.js";
import { type ImageSettings, type PullChoice, pullChoices } from "../runtime/root-image.js";
import type { Configuration } from "./configuration.js";
import type { Surroundings } from "./surroundings.js";

const PULL_VARIABLE = "AGENTKERNEL_PULL";
const MIRRORS_VARIABLE = "AGENTKERNEL_IMAGE_MIRRORS";
/** Last in the list of mirrors: the registry itself is not asked. */
const ONLY = "only";

export function imageSettings(
  { env, homeDir }: Surroundings,
  pullOption: string | undefined,
  configured: Configuration["images"],
): ImageSettings {
  const words = (env[MIRRORS_VARIABLE] ?? "").split(",").map((word) => word.trim());
  const mirrors = words.filter((word) => word !== "" && word !== ONLY);
  return {
    storeRoot: imageStoreFolder(env, homeDir),
    pull: pullChoice(pullOption, env[PULL_VARIABLE]),
    mirrors: mirrors.length > 0 ? { [DEFAULT_REGISTRY]: mirrors } : Object.fromEntries(configured.mirrors ?? []),
    mirrorsOnly: words.includes(ONLY),
    env,
    homeDir,
  };
}

function pullChoice(option: string | undefined, variable: string | undefined): PullChoice {
  const named = option ?? variable ?? "";
  if (named === "") return "missing";
  const choice = pullChoices.find((known) => known === named);
  if (choice !== undefined) return choice;
  const what = option === undefined ? PULL_VARIABLE : "--pull";
  throw new AgentKernelError("invalid_argument", `${what}: "${named}" is not one of ${pullChoices.join(", ")}`, {
    hint: "missing asks a registry only for images that are not here, never asks none",
  });
}
