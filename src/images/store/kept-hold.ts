/**
 * Keeps an image's layers for a sandbox that stays, whichever processes come and go. It stands for as long as the
 * sandbox's folder does, so whoever removes the one need not be trusted to remove the other.
 */
import { access, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { type Digest, isDigest } from "../digest.js";
import { isCode } from "./layout.js";
import type { ReadyImage } from "./ready.js";
import { storeFailure } from "./store-failure.js";

const PREFIX = "kept.";

export type HeldImage = Pick<ReadyImage, "manifestDigest" | "layers">;

/** For the sandbox with this id whose folder this is. Done again, it changes nothing. */
export async function holdForSandbox(root: string, image: HeldImage, id: string, folder: string): Promise<void> {
  const path = join(root, "pins", `${PREFIX}${id}`);
  const fresh = join(root, "partial", `new.${PREFIX}${id}.${process.pid}`);
  const digests = [image.manifestDigest, ...image.layers.map((layer) => `sha256:${layer}`)];
  try {
    await mkdir(join(root, "pins"), { recursive: true, mode: 0o700 });
    await mkdir(join(root, "partial"), { recursive: true, mode: 0o700 });
    await writeFile(fresh, [folder, ...digests].join("\n"), { mode: 0o600, flush: true });
    await rename(fresh, path);
  } catch (error) {
    await rm(fresh, { force: true });
    throw storeFailure("be written", root, error);
  }
}

export async function releaseForSandbox(root: string, id: string): Promise<void> {
  await rm(join(root, "pins", `${PREFIX}${id}`), { force: true });
}

export function isKeptHold(name: string): boolean {
  return name.startsWith(PREFIX);
}

interface KeptHold {
  /** Of the sandbox. */
  readonly name: string;
  readonly digests: readonly Digest[];
}

/** Null where the sandbox is gone: then the hold is removed. */
export async function readKeptHold(path: string): Promise<KeptHold | null> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    if (isCode(error, "ENOENT")) return null;
    throw error;
  }
  const [folder = "", ...lines] = text.split("\n");
  try {
    await access(folder);
  } catch (error) {
    if (!isCode(error, "ENOENT") && !isCode(error, "ENOTDIR")) throw error;
    await rm(path, { force: true });
    return null;
  }
  return { name: basename(folder), digests: lines.filter(isDigest) };
}
