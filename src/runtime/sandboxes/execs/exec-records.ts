/** What is written down about detached commands, so that the next process knows them. */
import { readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Moment } from "../clock.js";
import { isCode } from "../folder.js";
import type { ExecInfo } from "../types.js";
import { ExecLog } from "./exec-log.js";

const VERSION = 1;

export interface ExecRecord {
  readonly version: typeof VERSION;
  readonly info: ExecInfo;
  readonly timeoutMs: number | null;
  readonly started: Moment;
  /** Of a copy that has not gone on yet: time stands still, and `timeoutMs` is what is left of it. */
  readonly isHeld?: boolean;
}

export class ExecRecords {
  readonly folder: string;

  constructor(folder: string) {
    this.folder = folder;
  }

  /** In order of their start. What cannot be understood is left alone. */
  async all(): Promise<readonly ExecRecord[]> {
    const names = (await readdir(this.folder)).filter((name) => name.endsWith(".json"));
    const records = await Promise.all(names.map((name) => this.#read(name)));
    return records.filter((record) => record !== null).sort((a, b) => a.info.startedAtMs - b.info.startedAtMs);
  }

  /** Whole or not at all; a power cut may take it, as it takes the command. */
  async write(fields: Omit<ExecRecord, "version">): Promise<void> {
    const path = join(this.folder, `${fields.info.id}.json`);
    await writeFile(`${path}.new`, JSON.stringify({ version: VERSION, ...fields }), { mode: 0o600 });
    await rename(`${path}.new`, path);
  }

  async remove(id: string): Promise<void> {
    await rm(join(this.folder, `${id}.json`), { force: true });
    await ExecLog.remove(this.folder, id);
  }

  async #read(name: string): Promise<ExecRecord | null> {
    let value: unknown;
    try {
      value = JSON.parse(await readFile(join(this.folder, name), "utf8"));
    } catch (error) {
      if (error instanceof SyntaxError || isCode(error, "ENOENT")) return null;
      throw error;
    }
    return isExecRecord(value) && `${value.info.id}.json` === name ? value : null;
  }
}

function isExecRecord(value: unknown): value is ExecRecord {
  if (typeof value !== "object" || value === null) return false;
  const { version, info, started } = value as Partial<Record<keyof ExecRecord, unknown>>;
  if (version !== VERSION || typeof info !== "object" || info === null) return false;
  const { id, argv, state, startedAtMs } = info as Partial<Record<keyof ExecInfo, unknown>>;
  return (
    typeof id === "string" &&
    Array.isArray(argv) &&
    typeof state === "string" &&
    typeof startedAtMs === "number" &&
    typeof started === "object"
  );
}
