/** Where agentkernel keeps its own files, by the rules for XDG folders. Pure: nothing is made or looked at here. */
import { isAbsolute, join } from "node:path";

type Environment = Readonly<Record<string, string | undefined>>;

/** What can be had again only by asking others for it: images. */
export function dataFolder(env: Environment, homeDir: string): string {
  return ownFolder(env.XDG_DATA_HOME, homeDir, ".local/share");
}

export function imageStoreFolder(env: Environment, homeDir: string): string {
  return join(dataFolder(env, homeDir), "images");
}

/** A value that is not absolute is to be ignored, by the specification of these variables. */
function ownFolder(named: string | undefined, homeDir: string, usual: string): string {
  const base = named !== undefined && isAbsolute(named) ? named : join(homeDir, usual);
  return join(base, "agentkernel");
}
