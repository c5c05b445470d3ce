/** The source of a mount as it really is on the host. */
import { realpathSync } from "node:fs";
import { AgentKernelError } from "../core/errors.js";
import type { Mount } from "../core/policy.js";

/** The host path is absolute and free of symlinks: what is checked is what will be mounted. `origin` names the input. */
export function withRealSource(origin: string, mount: Mount): Mount {
  try {
    return { ...mount, host: realpathSync(mount.host) };
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code;
    const reason = code === "ENOENT" || code === "ENOTDIR" ? "does not exist" : `cannot be read (${code})`;
    throw new AgentKernelError("invalid_argument", `${origin}: "${mount.host}" ${reason}`, {
      hint: "the source of a mount is a file or folder that is already there",
      details: { field: "fs.mounts", value: mount.host, reason },
      cause,
    });
  }
}
