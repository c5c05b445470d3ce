/**
 * Has the disk itself take files, beside our other work and one after the other: records can come faster than a disk
 * takes them, and each file that waits open for it would be one that this process lacks elsewhere.
 */
import { closeSync, type fsync, openSync } from "node:fs";
import { type Deferred, deferred } from "../core/deferred.js";
import { isCode } from "./file-errors.js";

type Sync = typeof fsync;

interface DueSync {
  readonly how: Sync;
  readonly done: Deferred<void>;
}

export class DiskSyncs {
  /** Not begun, so that each takes in all that was written before it was last asked for. */
  readonly #due = new Map<string, DueSync>();
  readonly #asked = new Set<Promise<void>>();
  #isWorking = false;

  ask(path: string, how: Sync): void {
    if (this.#due.has(path)) return;
    const done = deferred<void>();
    // Told by `done`; until somebody asks, it is no unhandled rejection. What failed stays failed.
    done.promise.then(
      () => this.#asked.delete(done.promise),
      () => {},
    );
    this.#asked.add(done.promise);
    this.#due.set(path, { how, done });
    if (!this.#isWorking) void this.#work();
  }

  /** Everything that was asked for is on the disk. */
  async done(): Promise<void> {
    await Promise.all(this.#asked);
  }

  async #work(): Promise<void> {
    this.#isWorking = true;
    for (const [path, { how, done }] of this.#due) {
      this.#due.delete(path);
      await syncFile(path, how).then(done.resolve, done.reject);
    }
    this.#isWorking = false;
  }
}

function syncFile(path: string, how: Sync): Promise<void> {
  return new Promise((resolve, reject) => {
    const fd = openIfThere(path);
    if (fd === null) return resolve();
    how(fd, (error) => {
      closeSync(fd);
      if (error) reject(error);
      else resolve();
    });
  });
}

/** Null: it was removed for its age meanwhile, and needs no disk any more. */
function openIfThere(path: string): number | null {
  try {
    return openSync(path, "r");
  } catch (error) {
    if (isCode(error, "ENOENT")) return null;
    throw error;
  }
}
