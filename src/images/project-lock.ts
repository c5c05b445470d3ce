/** Reads the lock file of a project, which comes from whoever wrote the project. */
import { join } from "node:path";
import { AgentKernelError } from "../core/errors.js";
import { escapeText } from "../core/escape.js";
import { readRegularFile } from "../core/regular-file.js";
import { emptyLock, type ImageLock, LOCK_FILE_NAME, MAX_LOCK_BYTES, parseLock } from "./image-lock.js";

export function lockPath(projectDir: string): string {
  return join(projectDir, LOCK_FILE_NAME);
}

/** No file locks nothing. */
export function readLock(projectDir: string): ImageLock {
  const path = lockPath(projectDir);
  let bytes: Buffer;
  try {
    bytes = readRegularFile(path, MAX_LOCK_BYTES + 1);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : null;
    if (code === "ENOENT" || code === "ENOTDIR") return emptyLock;
    const why = code === null && error instanceof Error ? error.message : String(code);
    throw new AgentKernelError("invalid_policy", `${escapeText(path)} cannot be read: ${why}`, {
      hint: "it says which images this project is held to: make it a file that you may read, or remove it",
      cause: error,
    });
  }
  return parseLock(bytes, path);
}
