/**
 * Compiled modules on disk, a folder each, by the digest of the module. Loading one executes it, so nothing comes here
 * but what our own compiler answered, and the folder is its owner's alone.
 */
import { randomUUID } from "node:crypto";
import {
  closeSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { AgentKernelError } from "../../core/errors.js";

/** The name of the compiled module in its folder. */
export const COMPILED_NAME = "module.cwasm";
const MAX_ENTRIES = 256;
const MAX_BYTES = 2 ** 30;
/** Another process may still be writing a file that is younger. */
const UNFINISHED_MS = 10 * 60_000;

type Compile = (module: Buffer) => Promise<readonly Buffer[]>;

interface ModuleCacheOptions {
  readonly folder: string;
  /** The program that compiles and runs. Another one has a cache of its own. */
  readonly workerBinary: string;
}

export class ModuleCache {
  readonly #options: ModuleCacheOptions;
  readonly #underWay = new Map<string, Promise<string>>();

  constructor(options: ModuleCacheOptions) {
    this.#options = options;
  }

  /** The folder of the compiled module; compiled now where it is not there. */
  async folderOf(digest: string, read: () => Buffer, compile: Compile): Promise<string> {
    const folder = join(this.#place(), digest);
    if (statSync(join(folder, COMPILED_NAME), { throwIfNoEntry: false })?.isFile()) {
      noteUse(folder);
      return folder;
    }
    const known = this.#underWay.get(digest);
    if (known !== undefined) return await known;
    const made = this.#make(digest, folder, read, compile).finally(() => this.#underWay.delete(digest));
    this.#underWay.set(digest, made);
    return await made;
  }

  /** An empty folder, which is a root with nothing in it. */
  emptyRoot(): string {
    const folder = join(this.#options.folder, "root");
    privateFolder(this.#options.folder);
    mkdirSync(folder, { recursive: true, mode: 0o755 });
    return folder;
  }

  /** What is there cannot be used: it is made again when it is asked for. */
  drop(digest: string): void {
    rmSync(join(this.#place(), digest), { recursive: true, force: true });
  }

  async #make(digest: string, folder: string, read: () => Buffer, compile: Compile): Promise<string> {
    const compiled = await compile(read());
    const place = this.#place();
    const unfinished = join(place, `.${digest}.${randomUUID()}`);
    try {
      mkdirSync(unfinished, { mode: 0o755 });
      writeWhole(join(unfinished, COMPILED_NAME), compiled);
      rmSync(folder, { recursive: true, force: true });
      renameSync(unfinished, folder);
    } catch (error) {
      rmSync(unfinished, { recursive: true, force: true });
      // Another process of ours was quicker.
      if (!statSync(join(folder, COMPILED_NAME), { throwIfNoEntry: false })?.isFile()) throw error;
    }
    prune(place, folder);
    return folder;
  }

  #place(): string {
    const { folder, workerBinary } = this.#options;
    privateFolder(folder);
    const { size, mtimeMs } = statSync(workerBinary);
    const place = join(folder, `${size}-${Math.round(mtimeMs)}`);
    privateFolder(place);
    return place;
  }
}

function writeWhole(path: string, pieces: readonly Buffer[]): void {
  const descriptor = openSync(path, "wx", 0o444);
  try {
    for (const piece of pieces) {
      for (let at = 0; at < piece.length; ) at += writeSync(descriptor, piece, at);
    }
  } finally {
    closeSync(descriptor);
  }
}

function privateFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const { uid, mode } = statSync(folder);
  if (uid === process.geteuid?.() && (mode & 0o022) === 0) return;
  throw new AgentKernelError(
    "layer_unavailable",
    `the folder for compiled modules, ${folder}, can be written by others`,
    {
      hint: `what lies there is executed: remove it, or make it your own: chmod 700 ${folder}`,
    },
  );
}

function noteUse(folder: string): void {
  const now = new Date();
  try {
    utimesSync(folder, now, now);
  } catch {
    // It only says what is pruned first.
  }
}

/** The oldest go first; what has just been made stays. */
function prune(place: string, made: string): void {
  const now = Date.now();
  const entries = readdirSync(place).flatMap((name) => {
    const folder = join(place, name);
    const stat = statSync(folder, { throwIfNoEntry: false });
    const file = statSync(join(folder, COMPILED_NAME), { throwIfNoEntry: false });
    if (stat === undefined || folder === made) return [];
    const isUnfinished = name.startsWith(".");
    if (isUnfinished && now - stat.mtimeMs < UNFINISHED_MS) return [];
    return [{ folder, usedAtMs: isUnfinished ? 0 : stat.mtimeMs, bytes: file?.size ?? 0 }];
  });
  entries.sort((a, b) => b.usedAtMs - a.usedAtMs);
  let bytes = 0;
  for (const [index, entry] of entries.entries()) {
    bytes += entry.bytes;
    if (index + 1 < MAX_ENTRIES && bytes <= MAX_BYTES && entry.usedAtMs > 0) continue;
    rmSync(entry.folder, { recursive: true, force: true });
  }
}
