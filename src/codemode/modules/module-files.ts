/**
 * Modules that were made before, a file for each state of a server's tools, written by rename. They hold for one build.
 * What cannot be read or written is made again: nothing depends on them but time.
 */
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buildId } from "../../core/build-id.js";
import { readRegularFile } from "../../core/regular-file.js";
import type { Catalog } from "../servers/index.js";

const MOST_FILES = 200;
/** So many are left when there were too many. */
const FEWER_FILES = 150;
const MOST_BYTES = 4 << 20;

export class ModuleFiles {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Undefined where there is none, or none that can be read. */
  read(kind: string, catalog: Catalog): unknown {
    try {
      return JSON.parse(readRegularFile(this.#fileOf(kind, catalog), MOST_BYTES).toString("utf8"));
    } catch {
      return undefined;
    }
  }

  write(kind: string, catalog: Catalog, value: unknown): void {
    const text = JSON.stringify(value);
    if (Buffer.byteLength(text) > MOST_BYTES) return;
    const file = this.#fileOf(kind, catalog);
    try {
      mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
      const draft = `${file}.${Math.random().toString(36).slice(2)}`;
      writeFileSync(draft, text, { mode: 0o600 });
      renameSync(draft, file);
      this.#prune();
    } catch {
      // A full or read-only disk is told by whoever needs it to run a program.
    }
  }

  /** The oldest go first. */
  #prune(): void {
    const names = readdirSync(this.#folder);
    if (names.length <= MOST_FILES) return;
    const age = (name: string) => statSync(join(this.#folder, name), { throwIfNoEntry: false })?.mtimeMs ?? 0;
    const dated = names.map((name) => ({ name, atMs: age(name) })).sort((a, b) => a.atMs - b.atMs);
    for (const { name } of dated.slice(0, names.length - FEWER_FILES))
      rmSync(join(this.#folder, name), { force: true });
  }

  #fileOf(kind: string, { server, hash }: Catalog): string {
    const key = createHash("sha256").update([buildId(), kind, server, hash].join("\n")).digest("hex");
    return join(this.#folder, `${key}.json`);
  }
}
