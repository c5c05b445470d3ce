/**
 * The folders that snapshots lie in, one each. A snapshot is there as soon as its record is, which is written last and
 * removed first; a folder without one is what a killed process left half made or half removed, and is swept.
 */
import { existsSync } from "node:fs";
import { chmod, mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { PersistentBackend } from "../../../core/backend.js";
import { isAgentKernelError } from "../../../core/errors.js";
import { type CopyFolders, isCode, syncFolder, unwritable } from "../folder.js";
import { isSandboxName } from "../name.js";
import type { SnapshotRecord } from "./record.js";
import { snapshotTaken } from "./refusals.js";

const RECORD = "snapshot.json";

export class SnapshotFolders {
  readonly #root: string;
  readonly #kept: PersistentBackend;

  constructor(root: string, kept: PersistentBackend) {
    this.#root = root;
    this.#kept = kept;
  }

  path(name: string): string {
    return join(this.#root, name);
  }

  /** What the sandbox had. */
  copy(name: string): CopyFolders {
    const folder = (part: string) => join(this.path(name), part);
    return { jail: folder("jail"), execs: folder("execs"), terminals: folder("terminals") };
  }

  async open(): Promise<void> {
    await mkdir(this.#root, { recursive: true, mode: 0o700 });
    await chmod(this.#root, 0o700);
  }

  async names(): Promise<readonly string[]> {
    return (await readdir(this.#root)).filter(isSandboxName);
  }

  /** Null where there is none: then the folder is nobody's. */
  async readRecord(name: string): Promise<string | null> {
    try {
      return await readFile(join(this.path(name), RECORD), "utf8");
    } catch (error) {
      if (isCode(error, "ENOENT") || isCode(error, "ENOTDIR")) return null;
      throw error;
    }
  }

  /** `fill` gets the folders for the copy, and returns the record that makes it a snapshot. Nothing is left on failure. */
  async make(name: string, fill: (copy: CopyFolders) => Promise<SnapshotRecord>): Promise<SnapshotRecord> {
    // Of what has no record here, something may be left that could not be removed when it failed.
    if ((await this.readRecord(name)) !== null) throw snapshotTaken(name);
    if (existsSync(this.path(name))) await this.clear(name);
    try {
      await mkdir(this.path(name), { mode: 0o700 });
      await mkdir(this.copy(name).jail, { mode: 0o700 });
      const record = await fill(this.copy(name));
      const fresh = join(this.path(name), `${RECORD}.new`);
      await writeFile(fresh, `${JSON.stringify(record)}\n`, { mode: 0o600, flush: true });
      await rename(fresh, join(this.path(name), RECORD));
      await syncFolder(this.path(name));
      await syncFolder(this.#root);
      return record;
    } catch (error) {
      // What cannot be removed now is swept later.
      await this.clear(name).catch(() => {});
      throw isAgentKernelError(error) || !isSystemError(error) ? error : unwritable(this.path(name), error);
    }
  }

  /** From the first step on it is gone for everybody. */
  async remove(name: string): Promise<void> {
    await rm(join(this.path(name), RECORD), { force: true });
    await syncFolder(this.path(name));
    await this.clear(name);
  }

  async clear(name: string): Promise<void> {
    await this.#kept.remove(this.copy(name).jail);
    await rm(this.path(name), { recursive: true, force: true });
  }
}

function isSystemError(error: unknown): boolean {
  return error instanceof Error && "errno" in error;
}
