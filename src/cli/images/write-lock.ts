/** Writes the lock file of the project in the current folder. It is replaced whole or not at all. */
import { randomBytes } from "node:crypto";
import { rename, rm, writeFile } from "node:fs/promises";
import { AgentKernelError } from "../../core/errors.js";
import { escapeText } from "../../core/escape.js";
import { formatLock, type ImageLock, lockPath } from "../../images/index.js";

export async function writeLock(projectDir: string, lock: ImageLock): Promise<void> {
  const path = lockPath(projectDir);
  const fresh = `${path}.${randomBytes(6).toString("hex")}`;
  try {
    await writeFile(fresh, formatLock(lock), { flag: "wx", flush: true });
    await rename(fresh, path);
  } catch (error) {
    await rm(fresh, { force: true });
    const code = error instanceof Error && "code" in error ? ` (${error.code})` : "";
    throw new AgentKernelError("invalid_policy", `${escapeText(path)} cannot be written${code}`, {
      hint: "run this in a project folder that you may write",
      cause: error,
    });
  }
}
