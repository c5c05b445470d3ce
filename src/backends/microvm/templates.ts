/**
 * Machines that were booted once and saved where they wait to be woken. A template is made once for each shape, kept in
 * the cache folder, and held in memory by one process for all machines of this one. Nothing of any user is in one.
 */
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readdir, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { diskFailure } from "../../core/disk-failure.js";
import { AgentKernelError } from "../../core/errors.js";
import { escapeText } from "../../core/escape.js";
import { holderState, ownMark } from "../../core/process-mark.js";
import { type JailPrograms, startJail } from "../linux/jail-process.js";
import type { RootFile } from "./machine-files.js";
import { monitorJail } from "./monitor-jail.js";
import { type MachineShape, shapeKey } from "./shape.js";
import { TemplateHolder } from "./template-holder.js";

interface TemplatesOptions {
  readonly programs: JailPrograms;
  readonly vmmBinary: string;
  readonly folder: string;
  /** Rejects where a disk is not what was made: reading all of it takes less than booting from it. */
  readonly verifyRoot: (root: RootFile) => Promise<void>;
}

/** A policy, an image and a size have one each, of some ten megabytes and what the image's programs take. */
const MAX_KEPT = 12;
const KEPT = /^[0-9a-f]{32}$/;
const UNFINISHED = /^unfinished-(?<mark>.+)-[0-9a-f]{12}$/;

export class Templates {
  readonly #options: TemplatesOptions;
  readonly #held = new Map<string, Promise<TemplateHolder>>();

  constructor(options: TemplatesOptions) {
    this.#options = options;
  }

  /** Made where there is none, which takes as long as a machine takes to boot. */
  async of(shape: MachineShape): Promise<TemplateHolder> {
    const key = shapeKey(shape);
    const held = this.#held.get(key);
    if (held !== undefined && !(await held).isGone) return await held;
    const opened = this.#open(key, shape);
    this.#held.set(key, opened);
    opened.catch(() => this.#held.delete(key));
    return await opened;
  }

  async #open(key: string, shape: MachineShape): Promise<TemplateHolder> {
    const { vmmBinary, folder } = this.#options;
    const kept = join(folder, key);
    if (existsSync(kept)) {
      try {
        const holder = await TemplateHolder.open(vmmBinary, shape.memoryMib, kept);
        await utimes(kept, new Date(), new Date());
        return holder;
      } catch {
        // What cannot be read any more is made again.
        await rm(kept, { recursive: true, force: true });
      }
    }
    return await this.#make(kept, shape);
  }

  async #make(kept: string, shape: MachineShape): Promise<TemplateHolder> {
    const { programs, vmmBinary, folder, verifyRoot } = this.#options;
    await verifyRoot(shape.root);
    await prepare(folder).catch((error: unknown) => {
      throw diskFailure("machines that are booted cannot be saved", folder, error);
    });
    const holder = await TemplateHolder.empty(vmmBinary, shape.memoryMib);
    const unfinished = join(folder, `unfinished-${ownMark()}-${randomBytes(6).toString("hex")}`);
    try {
      const { journalDir } = programs;
      const start = { does: "save", template: holder } as const;
      const jail = monitorJail({ shape, start, vcpus: shape.vcpus, vmmBinary, journalDir });
      const { code, signal, said } = await (await startJail(programs, JSON.stringify(jail))).ended;
      if (code !== 0) throw notSaved(said ?? (signal === null ? `status ${code}` : `signal ${signal}`));
      await mkdir(unfinished, { mode: 0o700 });
      await holder.keep(unfinished);
      await writeFile(join(unfinished, "shape.json"), JSON.stringify(shape, null, 1), { mode: 0o600 });
      await rename(unfinished, kept).catch((error: NodeJS.ErrnoException) => {
        // Another process was quicker; each has its own in memory.
        if (error.code !== "ENOTEMPTY" && error.code !== "EEXIST") throw error;
      });
      await prune(folder);
      return holder;
    } catch (error) {
      holder.end();
      throw diskFailure("a machine that was booted could not be saved", folder, error);
    } finally {
      await rm(unfinished, { recursive: true, force: true });
    }
  }

  close(): void {
    for (const held of this.#held.values()) held.then((holder) => holder.end()).catch(() => {});
    this.#held.clear();
  }
}

/** Those that were used of late stay. Whoever has one open has all of it in memory. */
async function prune(folder: string): Promise<void> {
  const names = (await readdir(folder)).filter((name) => KEPT.test(name));
  const all = await Promise.all(
    names.map(async (name) => ({ name, at: (await stat(join(folder, name)).catch(() => null))?.mtimeMs ?? 0 })),
  );
  const surplus = all.sort((a, b) => b.at - a.at).slice(MAX_KEPT);
  for (const { name } of surplus) await rm(join(folder, name), { recursive: true, force: true });
}

async function prepare(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await sweepUnfinished(folder);
}

/** Of processes that were killed on the way. */
async function sweepUnfinished(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const mark = UNFINISHED.exec(name)?.groups?.mark;
    if (mark === undefined || holderState(mark) !== "dead") continue;
    await rm(join(folder, name), { recursive: true, force: true });
  }
}

function notSaved(why: string): AgentKernelError {
  return new AgentKernelError("sandbox_start_failed", `no machine could be booted: ${escapeText(why)}`, {
    hint: "see `agentkernel doctor`",
  });
}
