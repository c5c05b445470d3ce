/**
 * A folder that is a root filesystem as it is, as a disk that cannot be written. It is the user's and may change at any
 * time, so a disk is for the folder as it looked: one that looks otherwise gets another. Nothing is written beside it.
 */
import { createHash, randomBytes } from "node:crypto";
import { lstatSync, readdirSync, statSync } from "node:fs";
import { chmod, mkdir, readdir, rename, rm, utimes } from "node:fs/promises";
import { join } from "node:path";
import { makeDisk } from "./unpack/disk-process.js";
import { LAYER_LIMITS } from "./unpack/limits.js";

export interface FolderDisk {
  readonly path: string;
  readonly digest: string;
}

const IMAGE_NAME = "root.erofs";
/** Others that were used of late stay. */
const MAX_DISKS = 4;

export async function ensureFolderDisk(folder: string, cache: string, signal?: AbortSignal): Promise<FolderDisk> {
  const digest = looksOf(folder);
  const place = join(cache, digest);
  const path = join(place, IMAGE_NAME);
  if (statSync(path, { throwIfNoEntry: false }) === undefined) await make(folder, place, signal);
  const now = new Date();
  await utimes(place, now, now);
  await prune(cache);
  return { path, digest };
}

/** By what the kernel says of each file: whatever is changed in one changes its times. */
function looksOf(folder: string): string {
  const hash = createHash("sha256");
  const { dev } = lstatSync(folder);
  const look = (path: string): void => {
    const { mode, uid, gid, size, ino, mtimeMs, ctimeMs, dev: of } = lstatSync(path);
    hash.update(JSON.stringify([path, mode, uid, gid, size, ino, mtimeMs, ctimeMs]));
    if ((mode & 0o170000) !== 0o040000 || of !== dev) return;
    for (const name of readdirSync(path).sort()) look(join(path, name));
  };
  look(folder);
  return hash.digest("hex");
}

async function make(folder: string, place: string, signal?: AbortSignal): Promise<void> {
  const unfinished = `${place}.${randomBytes(6).toString("hex")}`;
  try {
    await mkdir(unfinished, { recursive: true, mode: 0o700 });
    await makeDisk({ target: unfinished, layers: [folder], maxBytes: LAYER_LIMITS.maxBytes }, signal);
    await chmod(join(unfinished, IMAGE_NAME), 0o644);
    await rename(unfinished, place).catch((error: NodeJS.ErrnoException) => {
      // Another process was quicker, with the same.
      if (error.code !== "ENOTEMPTY" && error.code !== "EEXIST") throw error;
    });
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
}

/** The oldest go; a machine that has one has it open. */
async function prune(cache: string): Promise<void> {
  const disks = (await readdir(cache)).map((name) => join(cache, name));
  const used = disks.map((path) => ({ path, atMs: statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0 }));
  for (const { path } of used.sort((a, b) => b.atMs - a.atMs).slice(MAX_DISKS)) {
    await rm(path, { recursive: true, force: true });
  }
}
