/** Keeps a sandbox from changing the files that decided about it, and from agentkernel's own. */
import { isAbsolute, relative } from "node:path";
import { AgentKernelError } from "../core/errors.js";
import type { Policy } from "../core/policy.js";
import { cacheFolder, dataFolder, stateFolder } from "../core/state-folders.js";
import type { Surroundings } from "../core/surroundings.js";
import type { PolicyLayer } from "../policy/layers.js";

/** A layer that protects the files in use where a folder that the sandbox may write holds one. */
export function protectInUse(inUse: readonly string[], cwd: string, { fs }: Policy): PolicyLayer[] {
  const mounts = fs.mounts.filter((mount) => !mount.readonly).map((mount) => mount.host);
  const itself = mounts.find((host) => inUse.includes(host));
  if (itself !== undefined) {
    throw new AgentKernelError(
      "policy_denied",
      `${itself} is protected: it decides about this sandbox, which must not change it`,
      {
        hint: "mount it read-only, or not at all",
      },
    );
  }
  const globs = globsBelow([cwd, ...mounts], inUse);
  return globs.length === 0 ? [] : [{ origin: "files in use", fields: { "fs.protect": globs } }];
}

/**
 * A layer that hides the audit log, records, keys and caches where a shown folder holds them. Where they are usually,
 * a built-in rule hides them; the XDG variables can name any other place.
 */
export function hideOwnFolders({ cwd, env, homeDir }: Surroundings, { fs }: Policy): PolicyLayer[] {
  const own = [stateFolder(env, homeDir), dataFolder(env, homeDir), cacheFolder(env, homeDir)];
  const globs = globsBelow([cwd, ...fs.mounts.map((mount) => mount.host)], own);
  const deny = globs.map((glob) => ({ glob, reason: "agentkernel's own files" }));
  return deny.length === 0 ? [] : [{ origin: "own files", fields: { "fs.deny": deny } }];
}

/** Globs, relative to the folder that it is in, for each path that is in one. */
function globsBelow(folders: readonly string[], paths: readonly string[]): readonly string[] {
  const globs = folders.flatMap((folder) =>
    paths
      .map((path) => relative(folder, path))
      .filter((path) => path !== "" && !path.startsWith("..") && !isAbsolute(path))
      // A character that a glob cannot have is matched by one that stands for any.
      .map((path) => path.replace(/[[\]{}\\*?]|\p{Cc}/gu, "?")),
  );
  return [...new Set(globs)];
}
