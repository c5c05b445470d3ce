/**
 * An image as a disk that cannot be written, for machines with a kernel of their own. It lies beside the uppermost of
 * the image's unpacked layers, which stands for all of them, is held by the same pins, and leaves with it. Nothing is
 * seen before it is whole: it comes by rename, and what a killed process left is swept with unfinished layers.
 */
import { randomBytes } from "node:crypto";
import { existsSync, readFileSync, statSync } from "node:fs";
import { chmod, mkdir, rename, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { AgentKernelError } from "../core/errors.js";
import { sha256OfFile } from "../core/file-digest.js";
import { isCode, StoreLayout, syncFolder } from "./store/layout.js";
import { waitForLock } from "./store/lock.js";
import { storeFailure } from "./store/store-failure.js";
import { makeDisk } from "./unpack/disk-process.js";
import { LAYER_LIMITS } from "./unpack/limits.js";
import { removeFolders } from "./unpack/unpacker-process.js";

export interface RootImage {
  readonly path: string;
  /** SHA-256, in hexadecimal. */
  readonly digest: string;
  readonly bytes: number;
}

const ROOT_IMAGE_FOLDER = "disk";
const IMAGE_NAME = "root.erofs";
const DESCRIPTION_NAME = "root.json";
const LOCK_WAIT_MS = 15 * 60_000;

/**
 * `layers` are the contents of unpacked layers in the store, the uppermost first, or one folder of the user's own that
 * is a root as it is; nothing is written to such a folder, and its disk lies in `cache`.
 */
export async function ensureRootImage(
  layers: readonly string[],
  cache: string,
  signal?: AbortSignal,
): Promise<RootImage> {
  const place = storedPlace(layers);
  if (place === null) {
    const { ensureFolderImage } = await import("./folder-image.js");
    return await ensureFolderImage(layers, cache, signal);
  }
  const known = findRootImage(place);
  if (known !== null) return known;
  const layout = await StoreLayout.open(dirname(dirname(dirname(place))));
  const lock = await waitForLock(layout.lockName(`disk-${basename(dirname(place))}`), LOCK_WAIT_MS, signal);
  try {
    const work = join(layout.root, "unpacking", `${layout.mark}.${randomBytes(8).toString("hex")}`);
    return findRootImage(place) ?? (await makeRootImage({ layers, work, place }, signal));
  } finally {
    await lock?.release();
  }
}

/** Where the disk of these layers lies; null where they are of no store. */
function storedPlace([top]: readonly string[]): string | null {
  if (top === undefined) throw new AgentKernelError("image_invalid", "the image has no layers");
  const isStored = /\/layers\/[0-9a-f]{64}\/fs$/.test(top) && existsSync(join(dirname(top), "../../id"));
  return isStored ? join(dirname(top), ROOT_IMAGE_FOLDER) : null;
}

/** Null where there is none that is whole. */
export function findRootImage(place: string): RootImage | null {
  const path = join(place, IMAGE_NAME);
  try {
    const { digest, bytes } = JSON.parse(readFileSync(join(place, DESCRIPTION_NAME), "utf8")) as RootImage;
    if (!/^[0-9a-f]{64}$/.test(digest) || statSync(path).size !== bytes) return null;
    return { path, digest, bytes };
  } catch {
    // Not there, or damaged: it is made anew.
    return null;
  }
}

/** How much the disk beside a layer takes. */
export async function rootImageBytes(layerFolder: string): Promise<number> {
  const found = await stat(join(layerFolder, ROOT_IMAGE_FOLDER, IMAGE_NAME)).catch(() => null);
  return found?.size ?? 0;
}

/** Reads all of it: is it what was made? */
export async function verifyRootImage({ path, digest }: Pick<RootImage, "path" | "digest">): Promise<void> {
  const found = await sha256OfFile(path);
  if (found === digest) return;
  throw new AgentKernelError("digest_mismatch", `${path} has the digest ${found}, and was made with ${digest}`, {
    hint: `it was changed or damaged: remove ${dirname(path)}, and it is made again`,
  });
}

interface Making {
  readonly layers: readonly string[];
  /** Becomes `place` when it is whole. */
  readonly work: string;
  readonly place: string;
}

export async function makeRootImage({ layers, work, place }: Making, signal?: AbortSignal): Promise<RootImage> {
  try {
    await mkdir(work, { mode: 0o700 });
    await makeDisk({ target: work, layers, maxBytes: LAYER_LIMITS.maxBytes }, signal);
    const path = join(work, IMAGE_NAME);
    await chmod(path, 0o644);
    const made = { digest: await sha256OfFile(path), bytes: (await stat(path)).size };
    await writeFile(join(work, DESCRIPTION_NAME), JSON.stringify(made), { mode: 0o600, flush: true });
    await publish(work, place);
    return { path: join(place, IMAGE_NAME), ...made };
  } catch (error) {
    await removeFolders([work]).catch(() => {
      // The next clearing finds it; the reason to tell is the first.
    });
    throw error;
  }
}

async function publish(work: string, place: string): Promise<void> {
  try {
    await rename(work, place);
  } catch (error) {
    if (!isCode(error, "ENOTEMPTY") && !isCode(error, "EEXIST")) {
      throw storeFailure("be written", dirname(place), error);
    }
    // One that was damaged, or that a process made which does not see our lock. Machines have theirs open.
    await removeFolders([place]);
    await rename(work, place);
  }
  await syncFolder(dirname(place));
}
