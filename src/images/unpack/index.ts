/**
 * Turns an image's blobs into folders that sandboxes start from, one for each layer, shared by all images that have it.
 * A layer is visible only when it is whole. What reads the archives is a process of its own, in a jail.
 */
import { randomBytes } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { AgentKernelError } from "../../core/errors.js";
import { holderState } from "../../core/process-mark.js";
import { type Digest, digestFromHex } from "../digest.js";
import { parseImageConfig } from "../image-config.js";
import { rootImageBytes } from "../root-image.js";
import type { Blobs } from "../store/blobs.js";
import { isCode, type StoreLayout, syncFolder, writeWhole } from "../store/layout.js";
import { waitForLock } from "../store/lock.js";
import { pin } from "../store/pins.js";
import { layerFolder, type ReadyImage, readReady, readyPath } from "../store/ready.js";
import { digestsOf, type ImageRecord } from "../store/records.js";
import { storeFailure } from "../store/store-failure.js";
import { chainIds } from "./chain-ids.js";
import { unpackLayer } from "./layer-process.js";
import { LAYER_LIMITS, type LayerLimits, limitsFor } from "./limits.js";
import { removeFolders } from "./unpacker-process.js";

const UNSEEN_OWNER_MS = 24 * 60 * 60 * 1000;
const LOCK_WAIT_MS = 15 * 60 * 1000;
/** Beside a layer's content: how much it is. */
const SIZE_FILE = "bytes";

interface UnpackOptions {
  /**
   * Return only when a power cut costs nothing any more. Without it, one within about half a minute can leave files of a
   * layer empty; that everything on the disk is written first can take as long.
   */
  readonly durable?: boolean;
  readonly limits?: LayerLimits;
  /** Called when a layer is unpacked, or was already. */
  readonly onLayer?: (done: number, total: number) => void;
  readonly signal?: AbortSignal;
}

export class UnpackedLayers {
  readonly #layout: StoreLayout;
  readonly #blobs: Blobs;

  constructor(layout: StoreLayout, blobs: Blobs) {
    this.#layout = layout;
    this.#blobs = blobs;
  }

  /** Makes the image one that sandboxes can start from. What others have unpacked already is used. */
  async makeReady(record: ImageRecord, options: UnpackOptions = {}): Promise<ReadyImage> {
    const { signal } = options;
    const config = parseImageConfig(await this.#blobs.read(record.config.digest));
    const names = chainIds(config.diffIds);
    if (names.length !== record.layers.length || names.length === 0) {
      throw new AgentKernelError("image_invalid", "the image's layers and its configuration do not agree in number");
    }
    // From here on no clearing takes away what is needed, nor what is made before the image is ready.
    const held = await pin(this.#layout, [...digestsOf(record), ...names.map(layerDigest)], signal);
    const lock = await waitForLock(this.#layout.lockName("unpack"), LOCK_WAIT_MS, signal).catch(
      async (error: unknown) => {
        await held.release();
        throw error;
      },
    );
    try {
      await this.#unpackMissing(record, config.diffIds, names, options);
      const { env, entrypoint, cmd, workdir, user } = config;
      const { reference, platform, digest, manifestDigest } = record;
      const layers = names.toReversed();
      const ready = { reference, platform, digest, manifestDigest, env, entrypoint, cmd, workdir, user, layers };
      await writeWhole(this.#layout, readyPath(this.#layout.root, reference, platform), JSON.stringify(ready));
      return ready;
    } finally {
      await lock?.release();
      await held.release();
    }
  }

  /** How much each unpacked layer holds, with the disk that was made of it, by the digest of its chain. */
  async sizes(): Promise<Map<Digest, number>> {
    const sizes = new Map<Digest, number>();
    for (const name of await this.#names()) {
      const folder = join(this.#layout.root, "layers", name);
      const text = await readFile(join(folder, SIZE_FILE), "utf8").catch(() => "");
      sizes.set(layerDigest(name), Number(/^\d+$/.exec(text)?.[0] ?? 0) + (await rootImageBytes(folder)));
    }
    return sizes;
  }

  /** The unpacked layers that an image needs; none where it is not unpacked. */
  layersOf({ reference, platform }: ImageRecord): readonly Digest[] {
    return (readReady(readyPath(this.#layout.root, reference, platform))?.layers ?? []).map(layerDigest);
  }

  async #names(): Promise<string[]> {
    return await readdir(join(this.#layout.root, "layers"));
  }

  async forget(reference: string, platform: string): Promise<void> {
    await rm(readyPath(this.#layout.root, reference, platform), { force: true });
  }

  /**
   * Forgets what no record speaks of: what a process left that was killed while it forgot an image, and other names
   * under which an image was used. Records are asked for after, since one is always there before its image is ready.
   */
  async forgetUnrecorded(recorded: () => Promise<readonly ImageRecord[]>): Promise<void> {
    const ready = await this.#readyFiles();
    const known = new Set<string>((await recorded()).map(({ manifestDigest }) => manifestDigest));
    for (const { manifestDigest, reference, platform } of ready) {
      if (!known.has(manifestDigest)) await this.forget(reference, platform);
    }
  }

  /** Removes the folders that no image needs and no process holds, and what killed processes left. */
  async removeUnneeded(held: () => Promise<ReadonlySet<string>>): Promise<number> {
    const layers = (await this.#readyFiles()).flatMap((ready) => ready.layers);
    const needed = new Set([...(await held()), ...layers.map(layerDigest)]);
    const leaving: string[] = [];
    for (const name of await this.#names()) {
      if (needed.has(layerDigest(name)) || (await held()).has(layerDigest(name))) continue;
      const away = this.#workFolder();
      await rename(join(this.#layout.root, "layers", name), away);
      // Somebody may have begun to hold it a moment before.
      if ((await held()).has(layerDigest(name))) await rename(away, join(this.#layout.root, "layers", name));
      else leaving.push(away);
    }
    await removeFolders([...leaving, ...(await this.#abandoned())]);
    return leaving.length;
  }

  /** What cannot be removed now, since what was killed is still ending, is found by the next. */
  async #sweep(): Promise<void> {
    await removeFolders(await this.#abandoned()).catch(() => {});
  }

  async #readyFiles(): Promise<ReadyImage[]> {
    const folder = join(this.#layout.root, "ready");
    const files = await readdir(folder);
    return files.flatMap((name) => readReady(join(folder, name)) ?? []);
  }

  async #unpackMissing(
    record: ImageRecord,
    diffIds: readonly string[],
    names: readonly string[],
    { durable = false, onLayer, signal, limits = LAYER_LIMITS }: UnpackOptions,
  ): Promise<void> {
    const { root } = this.#layout;
    const unpacked: { readonly name: string; readonly folder: string }[] = [];
    const below: string[] = [];
    const missing = await missingFrom(root, names);
    if (missing < names.length) await this.#sweep();
    try {
      for (const [index, layer] of record.layers.entries()) {
        const name = names[index] ?? "";
        if (index < missing) {
          below.unshift(layerFolder(root, name));
        } else {
          const folder = this.#workFolder();
          await mkdir(folder, { mode: 0o700 });
          unpacked.push({ name, folder });
          const order = {
            ...limitsFor(layer.sizeBytes, limits),
            target: folder,
            below,
            compression: layer.compression,
            diffId: diffIds[index] ?? "",
            sync: durable && index === names.length - 1,
          };
          const { bytes } = await unpackLayer(this.#blobs.path(layer.digest), order, signal);
          await writeFile(join(folder, SIZE_FILE), String(bytes), { mode: 0o600 });
          below.unshift(join(folder, "fs"));
        }
        onLayer?.(index + 1, names.length);
      }
      await this.#publish(unpacked);
    } catch (error) {
      await removeFolders(unpacked.map(({ folder }) => folder)).catch(() => {
        // What could not be removed now is found by the next clearing; the reason to tell is the first.
      });
      throw error;
    }
  }

  async #publish(unpacked: readonly { readonly name: string; readonly folder: string }[]): Promise<void> {
    const { root } = this.#layout;
    for (const { name, folder } of unpacked) {
      try {
        await rename(folder, join(root, "layers", name));
      } catch (error) {
        // Another process that does not see our lock was quicker; what it has is the same.
        if (!isCode(error, "ENOTEMPTY") && !isCode(error, "EEXIST")) throw storeFailure("be written", root, error);
        await removeFolders([folder]);
      }
    }
    if (unpacked.length > 0) await syncFolder(join(root, "layers"));
  }

  #workFolder(): string {
    return join(this.#layout.root, "unpacking", `${this.#layout.mark}.${randomBytes(8).toString("hex")}`);
  }

  async #abandoned(): Promise<string[]> {
    const folder = join(this.#layout.root, "unpacking");
    const left: string[] = [];
    for (const name of await readdir(folder)) {
      if (await isAbandoned(join(folder, name), name.split(".")[0] ?? "")) left.push(join(folder, name));
    }
    return left;
  }
}

function layerDigest(name: string): Digest {
  return digestFromHex(name);
}

/** Owners that cannot be seen from here are believed for a day: no unpacking takes as long. */
async function isAbandoned(path: string, mark: string): Promise<boolean> {
  const state = holderState(mark);
  if (state !== "unknown") return state === "dead";
  const info = await stat(path).catch(() => null);
  return info !== null && Date.now() - info.mtimeMs > UNSEEN_OWNER_MS;
}

/** How many of the lowest layers are there already. */
async function missingFrom(root: string, names: readonly string[]): Promise<number> {
  for (const [index, name] of names.entries()) {
    const info = await stat(layerFolder(root, name)).catch((error: unknown) => {
      if (isCode(error, "ENOENT")) return null;
      throw storeFailure("be read", root, error);
    });
    if (info === null) return index;
  }
  return names.length;
}
