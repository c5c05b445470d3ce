/** How long a daemon is to stay, from its options, the environment and the user-wide configuration file. */

import type { ConfigFile } from "../config/index.js";
import type { Surroundings } from "../core/surroundings.js";
import type { Stay } from "../daemon/lifetime.js";
import { parseDurationMs } from "../policy/resources.js";
import { userWidePath } from "../request/configuration.js";
import { exists, sourceOf } from "../request/steering-files.js";
import type { ParsedOptions } from "./option-spec.js";

/** How long one that was started on demand owns nothing before it ends. */
export const USUAL_LINGER_MS = 300_000;
const VARIABLE = "AGENTKERNEL_DAEMON_LINGER";

export async function readStay(parsed: ParsedOptions, surroundings: Surroundings): Promise<Stay> {
  const named = parsed.values.get("idle-timeout")?.[0];
  if (named !== undefined) return { onDemand: false, idleTimeoutMs: parseDurationMs("--idle-timeout", named) };
  if (!parsed.flags.has("on-demand")) return { onDemand: false, idleTimeoutMs: null };
  return { onDemand: true, idleTimeoutMs: await lingerMs(surroundings) };
}

/** Throws what is wrong with the user-wide configuration file, if anything is. */
export async function checkUserFile(surroundings: Surroundings): Promise<void> {
  await userFile(surroundings);
}

/** Null where there is none. */
async function userFile(surroundings: Surroundings): Promise<ConfigFile | null> {
  const path = userWidePath(surroundings);
  if (path === null || !exists(path)) return null;
  const config = await import("../config/index.js");
  const { value, faults } = await config.readConfigFile(sourceOf({ name: path, path }), "user");
  config.throwFaults(faults);
  return value;
}

async function lingerMs(surroundings: Surroundings): Promise<number> {
  const { [VARIABLE]: variable = "" } = surroundings.env;
  if (variable !== "") return parseDurationMs(VARIABLE, variable);
  return (await userFile(surroundings))?.daemon.linger ?? USUAL_LINGER_MS;
}
