/** The lock file of the project in the current folder. It is replaced whole or not at all. */
import { randomBytes } from "node:crypto";
import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { AgentKernelError } from "../../core/errors.js";
import { escapeText } from "../../core/escape.js";
import { emptyLock, formatLock, type ImageLock, LOCK_FILE_NAME, parseLock } from "../../images/index.js";

export function lockPath(projectDir: string): string {
  return join(projectDir, LOCK_FILE_NAME);
}

/** No file locks nothing. */
export async function readLock(projectDir: string): Promise<ImageLock> {
  const path = lockPath(projectDir);
  let bytes: Buffer;
  try {
    bytes = await readFile(path);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return emptyLock;
    throw unusable(path, "read", error);
  }
  return parseLock(bytes, path);
}

export async function writeLock(projectDir: string, lock: ImageLock): Promise<void> {
  const path = lockPath(projectDir);
  const fresh = `${path}.${randomBytes(6).toString("hex")}`;
  try {
    await writeFile(fresh, formatLock(lock), { flag: "wx", flush: true });
    await rename(fresh, path);
  } catch (error) {
    await rm(fresh, { force: true });
    throw unusable(path, "written", error);
  }
}

function unusable(path: string, verb: string, cause: unknown): AgentKernelError {
  const code = cause instanceof Error && "code" in cause ? ` (${cause.code})` : "";
  return new AgentKernelError("invalid_policy", `${escapeText(path)} cannot be ${verb}${code}`, { cause });
}
