/**
 * A folder of the user's own as a disk. What is in it can change at any time, so every file is looked at (not read) before
 * a disk that was made of it is used again. The newest few are kept.
 */
import { createHash, randomBytes } from "node:crypto";
import type { BigIntStats } from "node:fs";
import { lstat, mkdir, readdir, rm, stat, utimes } from "node:fs/promises";
import { join } from "node:path";
import { AgentKernelError } from "../core/errors.js";
import { holderState, ownMark } from "../core/process-mark.js";
import { findRootImage, makeRootImage, type RootImage } from "./root-image.js";

const NAME = "folders";
const MAX_ENTRIES = 4;

export async function ensureFolderImage(
  layers: readonly string[],
  cache: string,
  signal?: AbortSignal,
): Promise<RootImage> {
  const [folder] = layers;
  if (folder === undefined || layers.length > 1) {
    throw new AgentKernelError("internal", "layers that are in no store, and more than one");
  }
  const around = join(cache, NAME);
  await mkdir(around, { recursive: true, mode: 0o700 });
  const place = join(around, await fingerprint(folder, signal));
  const known = findRootImage(place);
  const now = new Date();
  if (known !== null) {
    await utimes(place, now, now);
    return known;
  }
  const work = join(around, `.${ownMark()}.${randomBytes(8).toString("hex")}`);
  const made = await makeRootImage({ layers, work, place }, signal);
  await prune(around, place);
  return made;
}

/** Changes with every file, name, owner, mode and time in the folder. */
async function fingerprint(folder: string, signal?: AbortSignal): Promise<string> {
  const hash = createHash("sha256");
  const { dev: device } = await lstat(folder, { bigint: true });
  const look = async (path: string, name: string): Promise<void> => {
    signal?.throwIfAborted();
    const found: BigIntStats = await lstat(path, { bigint: true });
    const { dev, ino, mode, uid, gid, size, mtimeNs, ctimeNs } = found;
    hash.update(`${JSON.stringify(name)} ${dev} ${ino} ${mode} ${uid} ${gid} ${size} ${mtimeNs} ${ctimeNs}\n`);
    // What is mounted in it is not part of the disk.
    if (!found.isDirectory() || dev !== device) return;
    for (const inner of (await readdir(path)).sort()) await look(join(path, inner), `${name}/${inner}`);
  };
  await look(folder, folder);
  return hash.digest("hex");
}

/** The oldest go, and what killed processes left. */
async function prune(around: string, made: string): Promise<void> {
  const found: { readonly path: string; readonly usedAtMs: number }[] = [];
  for (const name of await readdir(around)) {
    const path = join(around, name);
    if (name.startsWith(".")) {
      if (holderState(name.slice(1).split(".")[0] ?? "") === "dead") await rm(path, { recursive: true, force: true });
      continue;
    }
    const usedAtMs = (await stat(path).catch(() => null))?.mtimeMs ?? 0;
    if (path !== made) found.push({ path, usedAtMs });
  }
  found.sort((a, b) => b.usedAtMs - a.usedAtMs);
  for (const { path } of found.slice(MAX_ENTRIES - 1)) await rm(path, { recursive: true, force: true });
}
