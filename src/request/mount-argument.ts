/** `HOST:GUEST[:ro]` into a mount whose source is there. */
import { realpathSync } from "node:fs";
import { resolve } from "node:path";
import { AgentKernelError } from "../core/errors.js";
import type { Mount } from "../core/policy.js";
import { whyBadGuestPath } from "../policy/mounts.js";

/** The guest path starts at the first `:/`, so that a host path may have other colons in it. */
const FORM = /^(.+?):(\/[^:]*)(?::(ro|rw))?$/s;

/** The host path is absolute and free of links: what is checked is what will be mounted. */
export function parseMount(text: string, cwd: string): Mount {
  const match = FORM.exec(text);
  const [, host, guest, access] = match ?? [];
  if (host === undefined || guest === undefined) {
    throw new AgentKernelError("invalid_argument", `--mount: "${text}" is not of the form HOST:GUEST[:ro]`, {
      hint: "the guest path is absolute, for example --mount ./vendor:/deps:ro",
    });
  }
  const trimmed = guest.length > 1 ? guest.replace(/\/+$/, "") || "/" : guest;
  const why = whyBadGuestPath(trimmed);
  if (why !== null) {
    throw new AgentKernelError("invalid_argument", `--mount: nothing can be mounted at "${guest}": ${why}`, {
      hint: "choose a path of its own, for example /deps",
    });
  }
  return { host: realMountSource("--mount", resolve(cwd, host), host), guest: trimmed, readonly: access === "ro" };
}

/** `origin` names the input in which the mount is written. */
export function realMountSource(origin: string, path: string, asWritten: string): string {
  try {
    return realpathSync(path);
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code;
    const reason = code === "ENOENT" || code === "ENOTDIR" ? "does not exist" : `cannot be read (${code})`;
    throw new AgentKernelError("invalid_argument", `${origin}: "${asWritten}" ${reason}`, {
      hint: "the source of a mount is a file or folder that is already there",
      cause,
    });
  }
}
