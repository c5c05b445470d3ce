/**
 * The folders that kept sandboxes lie in, one each. One appears whole under its name, by rename, and leaves it the same
 * way; what is half made or half removed has a name that no sandbox can have, and is cleared in the background, by the next
 * process where this one was killed.
 */
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, mkdir, open, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { PersistentBackend } from "../../core/backend.js";
import { AgentKernelError, isAgentKernelError } from "../../core/errors.js";
import { isSandboxName } from "./name.js";
import type { SandboxRecord } from "./record.js";
import { nameTaken } from "./refusals.js";

const RECORD = "sandbox.json";
const NEW = ".new-";
const GONE = ".gone-";

/** What a copy of a sandbox has folders for. */
export interface CopyFolders {
  /** The backend's. */
  readonly jail: string;
  /** Of commands that go on in it. */
  readonly execs: string;
  readonly terminals: string;
}

/** One sandbox's folder. */
export class SandboxFolder implements CopyFolders {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  /** The backend's. */
  get jail(): string {
    return join(this.path, "jail");
  }

  get execs(): string {
    return join(this.path, "execs");
  }

  /** Made with the first terminal. */
  get terminals(): string {
    return join(this.path, "terminals");
  }

  readRecord(): Promise<string> {
    return readFile(join(this.path, RECORD), "utf8");
  }

  async writeRecord(record: SandboxRecord): Promise<void> {
    try {
      const fresh = join(this.path, `${RECORD}.new`);
      await writeFile(fresh, `${JSON.stringify(record)}\n`, { mode: 0o600, flush: true });
      await rename(fresh, join(this.path, RECORD));
      await syncFolder(this.path);
    } catch (cause) {
      throw unwritable(this.path, cause);
    }
  }
}

/** All of one user's. */
export class SandboxFolders {
  readonly root: string;
  readonly #kept: PersistentBackend;

  constructor(root: string, kept: PersistentBackend) {
    this.root = root;
    this.#kept = kept;
  }

  async open(): Promise<void> {
    await mkdir(this.root, { recursive: true, mode: 0o700 });
    await chmod(this.root, 0o700);
  }

  async names(): Promise<readonly string[]> {
    return (await readdir(this.root)).filter(isSandboxName);
  }

  of(name: string): SandboxFolder {
    return new SandboxFolder(join(this.root, name));
  }

  /** Rejects with `conflict` where one of this name is there. `fill` gives its folders what it begins with. */
  async make(record: SandboxRecord, fill?: (into: CopyFolders) => Promise<unknown>): Promise<SandboxFolder> {
    const fresh = new SandboxFolder(join(this.root, `${NEW}${randomBytes(8).toString("hex")}`));
    try {
      await mkdir(fresh.path, { mode: 0o700 });
      await mkdir(fresh.jail, { mode: 0o700 });
      await mkdir(fresh.execs, { mode: 0o700 });
      await fill?.(fresh);
      await fresh.writeRecord(record);
      await rename(fresh.path, this.of(record.name).path);
      await syncFolder(this.root);
    } catch (cause) {
      // What cannot be removed now is swept later.
      await this.#clear(fresh).catch(() => {});
      if (isCode(cause, "ENOTEMPTY") || isCode(cause, "EEXIST")) throw nameTaken(record.name);
      throw isAgentKernelError(cause) || isAbort(cause) ? cause : unwritable(this.root, cause);
    }
    return this.of(record.name);
  }

  /** Nothing of it may run. It is gone for everybody then; what is left of it has the name that is returned. */
  async remove(name: string): Promise<string> {
    const gone = `${GONE}${randomBytes(8).toString("hex")}`;
    await rename(this.of(name).path, join(this.root, gone));
    await syncFolder(this.root);
    return gone;
  }

  /** The names of what removals have left, and killed processes. */
  async leftovers(): Promise<readonly string[]> {
    return (await readdir(this.root)).filter((name) => name.startsWith(NEW) || name.startsWith(GONE));
  }

  /** Takes as long as there is much in them. Returns what could not be removed, and why. */
  async clear(leftovers: readonly string[]): Promise<readonly Error[]> {
    const failures = await Promise.all(
      leftovers.map((name) =>
        this.#clear(new SandboxFolder(join(this.root, name))).then(
          () => null,
          (cause: unknown) => new Error(`${name} could not be removed: ${String(cause)}`, { cause }),
        ),
      ),
    );
    return failures.filter((failure) => failure !== null);
  }

  async #clear(folder: SandboxFolder): Promise<void> {
    if (existsSync(folder.jail)) await this.#kept.remove(folder.jail);
    await rm(folder.path, { recursive: true, force: true });
  }
}

export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

export function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === "AbortError";
}

export function unwritable(path: string, cause: unknown): AgentKernelError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  const isFull =
    isCode(cause, "ENOSPC") || isCode(cause, "EDQUOT") || isCode(cause, "EMFILE") || isCode(cause, "ENFILE");
  return new AgentKernelError(isFull ? "resource_exhausted" : "internal", `${path} cannot be written: ${reason}`, {
    hint:
      isCode(cause, "ENOSPC") || isCode(cause, "EDQUOT") ? "make room on its disk" : "look at its owner and its mode",
    cause,
  });
}
