/** Who owns a kept container now: a word in its state folder. Who wrote it last has it, and the one before is told. */
import { randomBytes } from "node:crypto";
import { type FSWatcher, readFileSync, renameSync, watch, writeFileSync } from "node:fs";
import { join } from "node:path";
import { deferred } from "../../../core/deferred.js";

const NAME = "owner";

export class Claim {
  /** Settles when another has it. */
  readonly lost: Promise<void>;
  readonly #path: string;
  readonly #word = randomBytes(12).toString("hex");
  readonly #watcher: FSWatcher;

  constructor(stateDir: string) {
    this.#path = join(stateDir, NAME);
    const lost = deferred<void>();
    this.lost = lost.promise;
    const look = () => {
      if (!this.isMine) lost.resolve();
    };
    this.#watcher = watch(stateDir, { persistent: false }, look);
    this.#watcher.on("error", look);
    writeFileSync(`${this.#path}.${this.#word}`, this.#word, { mode: 0o600 });
    renameSync(`${this.#path}.${this.#word}`, this.#path);
  }

  get isMine(): boolean {
    try {
      return readFileSync(this.#path, "utf8") === this.#word;
    } catch (error) {
      // With its folder the sandbox is gone too.
      if (error instanceof Error && "code" in error) return false;
      throw error;
    }
  }

  close(): void {
    this.#watcher.close();
  }
}
