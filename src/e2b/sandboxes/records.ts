/** The records of sandboxes of E2B's clients, a file each. One whose sandbox is gone is removed when it is met. */
import { mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { textIfThere } from "../../core/text-if-there.js";
import type { Sandbox } from "../../runtime/sandboxes/index.js";
import { type E2bRecord, readRecord } from "./record.js";

const FILE = /^([a-z0-9][a-z0-9_.-]{0,62})\.json$/;

export class Records {
  readonly #folder: string;
  readonly #byName = new Map<string, E2bRecord>();

  private constructor(folder: string) {
    this.#folder = folder;
  }

  static open(folder: string, onRemark: (line: string) => void): Records {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const records = new Records(folder);
    for (const file of readdirSync(folder)) {
      const name = FILE.exec(file)?.[1];
      if (name === undefined) {
        // Half of a write that never ended.
        rmSync(join(folder, file), { force: true });
        continue;
      }
      const record = readRecord(textIfThere(join(folder, file)) ?? "");
      if (record === null) onRemark(`${join(folder, file)} is not a record of this version and is left as it is`);
      else records.#byName.set(name, record);
    }
    return records;
  }

  /** Undefined for a sandbox that no client of E2B has made or connected to. */
  of({ name, id }: Pick<Sandbox, "name" | "id">): E2bRecord | undefined {
    const record = this.#byName.get(name);
    if (record === undefined || record.id === id) return record;
    this.forget(name);
    return undefined;
  }

  /** On disk when it returns. */
  set({ name }: Pick<Sandbox, "name">, record: E2bRecord): void {
    const path = this.#pathOf(name);
    writeFileSync(`${path}.new`, `${JSON.stringify(record)}\n`, { mode: 0o600 });
    renameSync(`${path}.new`, path);
    this.#byName.set(name, record);
  }

  forget(name: string): void {
    this.#byName.delete(name);
    rmSync(this.#pathOf(name), { force: true });
  }

  /** Keeps those of these sandboxes. */
  sweep(sandboxes: readonly Pick<Sandbox, "name" | "id">[]): void {
    const ids = new Map(sandboxes.map(({ name, id }) => [name, id]));
    for (const [name, { id }] of this.#byName) if (ids.get(name) !== id) this.forget(name);
  }

  #pathOf(name: string): string {
    return join(this.#folder, `${name}.json`);
  }
}
