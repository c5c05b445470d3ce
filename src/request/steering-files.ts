/** Files that steer a run, read from the host: regular files only, bounded, and never passed over in silence. */
import { lstatSync, realpathSync } from "node:fs";
import type { SourceFile } from "../config/index.js";
import { AgentKernelError } from "../core/errors.js";
import { readRegularFile } from "../core/regular-file.js";

export interface FoundFile {
  /** As the user knows it. */
  readonly name: string;
  readonly path: string;
}

/** A link that leads nowhere is there: a file that cannot be read must not look like one that nobody wrote. */
export function exists(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOTDIR") return false;
    throw unreadable(path, error);
  }
}

/** As it was named, and where it really lies. */
export function pathsOf({ path }: FoundFile): readonly string[] {
  try {
    return [path, realpathSync(path)];
  } catch (error) {
    throw unreadable(path, error);
  }
}

const MAX_READ_BYTES = 1024 * 1024 + 1;

/** Reads a regular file and nothing else, and never more than a parser would take. */
export function sourceOf({ name, path }: FoundFile): SourceFile {
  try {
    return { name, bytes: readRegularFile(path, MAX_READ_BYTES) };
  } catch (error) {
    throw unreadable(name, error);
  }
}

function unreadable(name: string, cause: unknown): AgentKernelError {
  const { code, message } = cause as NodeJS.ErrnoException;
  const reason = code === "ENOENT" ? "it does not exist" : code === undefined ? message : `${code}`;
  return new AgentKernelError("invalid_policy", `${name} cannot be read: ${reason}`, {
    hint: "a run never goes on without a file that it was given; correct its path or its rights",
    cause,
  });
}
