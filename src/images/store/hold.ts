/**
 * Keeps an image's layers from being removed while a sandbox stands on them. It ends with its process, however that
 * dies, so it need not survive a power cut, and costs one small file.
 */
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ownMark } from "../../core/process-mark.js";
import type { ReadyImage } from "./ready.js";
import { storeFailure } from "./store-failure.js";

export interface LayerHold {
  release(): Promise<void>;
}

/** What is held: the image's manifest, by which others see that it is used, and its layers. */
export async function holdImage(root: string, { manifestDigest, layers }: ReadyImage): Promise<LayerHold> {
  // Unique among the holds of one process; nobody is kept out by guessing it.
  const name = `${ownMark()}.${Math.floor(Math.random() * 2 ** 48).toString(16)}`;
  const path = join(root, "pins", name);
  const fresh = join(root, "partial", `new.${name}`);
  try {
    await mkdir(join(root, "pins"), { recursive: true, mode: 0o700 });
    await writeFile(fresh, [manifestDigest, ...layers.map((layer) => `sha256:${layer}`)].join("\n"), {
      mode: 0o600,
      flag: "wx",
    });
    await rename(fresh, path);
  } catch (error) {
    await rm(fresh, { force: true });
    throw storeFailure("be written", root, error);
  }
  return { release: () => rm(path, { force: true }) };
}
