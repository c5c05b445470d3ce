/**
 * Reads and writes the files of agents. A file is replaced whole or not at all, keeps its mode and owner, stays a link
 * where it is one, and is not replaced if somebody else changed it meanwhile.
 */

import { randomBytes } from "node:crypto";
import {
  chmodSync,
  chownSync,
  closeSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  realpathSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  unlinkSync,
  writeSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { AgentKernelError } from "../core/errors.js";
import { readRegularFile } from "../core/regular-file.js";
import type { Setting } from "./agent.js";
import type { FileText } from "./edit/index.js";
import type { FileChange } from "./plan.js";
import { isWithin, realPath, realTarget } from "./real-path.js";

/** Claude Code's own state grows to megabytes. */
const MAX_FILE_BYTES = 32 << 20;

export function fileExists(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined;
}

export function readText(path: string): FileText {
  if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return null;
  const bytes = readBytes(path);
  if (bytes.length > MAX_FILE_BYTES) throw unusable(path, `it is larger than ${MAX_FILE_BYTES >> 20} MiB`);
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    throw unusable(path, "it is not UTF-8 text", cause);
  }
}

/** Where the file really lies; null: where its path says. A file that belongs to a project lies in it. */
export function linkedTarget(path: string, { scope, at }: Setting): string | null {
  const target = targetOf(path);
  if (scope === "project" && !isWithin(target, realPath(at.cwd))) {
    throw unusable(path, `it is a link out of the project, to ${target}`);
  }
  return target === path ? null : target;
}

function targetOf(path: string): string {
  try {
    return realTarget(path);
  } catch (cause) {
    throw unusable(path, cause instanceof Error ? cause.message : String(cause), cause);
  }
}

function readBytes(path: string): Buffer {
  try {
    return readRegularFile(path, MAX_FILE_BYTES + 1);
  } catch (cause) {
    throw unusable(path, cause instanceof Error ? cause.message : String(cause), cause);
  }
}

/** Folders that had to be made for a file, outermost first. */
export function applyChange({ path, isPrivate, before, after }: FileChange): readonly string[] {
  try {
    if (readText(path) !== before) {
      throw new AgentKernelError("conflict", `${path} was changed by somebody else meanwhile`, {
        hint: "run the same command again",
      });
    }
    if (after === null) {
      unlinkSync(path);
      return [];
    }
    const made = makeFolders(dirname(path));
    replace(before === null ? path : realpathSync(path), after, isPrivate ? 0o600 : 0o644);
    return made;
  } catch (error) {
    if (error instanceof AgentKernelError) throw error;
    throw unusable(path, error instanceof Error ? error.message : String(error), error);
  }
}

/** Takes folders away again that hold nothing. */
export function removeEmptyFolders(folders: readonly string[]): void {
  for (const folder of folders.toReversed()) {
    try {
      rmdirSync(folder);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === "ENOTEMPTY" || code === "EEXIST" || code === "ENOENT") continue;
      throw unusable(folder, `it cannot be removed (${code})`, error);
    }
  }
}

function makeFolders(folder: string): readonly string[] {
  const missing: string[] = [];
  for (let at = folder; !fileExists(at); at = dirname(at)) missing.unshift(at);
  for (const one of missing) mkdirSync(one);
  return missing;
}

function replace(path: string, text: string, newMode: number): void {
  const old = statSync(path, { throwIfNoEntry: false });
  const temporary = join(dirname(path), `.${basename(path)}.${randomBytes(6).toString("hex")}`);
  const descriptor = openSync(temporary, "wx", old === undefined ? newMode : 0o600);
  try {
    writeAll(descriptor, Buffer.from(text));
    fsyncSync(descriptor);
    closeSync(descriptor);
    if (old !== undefined) {
      const own = statSync(temporary);
      if (own.uid !== old.uid || own.gid !== old.gid) chownSync(temporary, old.uid, old.gid);
      chmodSync(temporary, old.mode & 0o7777);
    }
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

function writeAll(descriptor: number, bytes: Buffer): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(descriptor, bytes, at);
}

function unusable(path: string, why: string, cause?: unknown): AgentKernelError {
  return new AgentKernelError("conflict", `${path} cannot be used: ${why}`, {
    hint: "nothing of it was changed; correct the file or its rights",
    details: { file: path },
    cause,
  });
}
