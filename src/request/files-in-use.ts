/** Keeps a sandbox from changing the files that decided about it, and would decide about the next one. */
import { isAbsolute, relative } from "node:path";
import { AgentKernelError } from "../core/errors.js";
import type { Policy } from "../core/policy.js";
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
  const globs = [cwd, ...mounts].flatMap((folder) =>
    inUse
      .map((path) => relative(folder, path))
      .filter((path) => path !== "" && !path.startsWith("..") && !isAbsolute(path))
      // A character that a glob cannot have is matched by one that stands for any.
      .map((path) => path.replace(/[[\]{}\\*?]|\p{Cc}/gu, "?")),
  );
  return globs.length === 0 ? [] : [{ origin: "files in use", fields: { "fs.protect": [...new Set(globs)] } }];
}
