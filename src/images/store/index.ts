/**
 * Owns the images on disk: content-addressed blobs, the records of what references stand for, pins and room. Shared by
 * any number of processes that may die at any moment: nothing is visible before it is whole and verified, and nothing
 * that a live process needs is removed. It never talks to a network. Linux only.
 */
import type { FileHandle } from "node:fs/promises";
import type { AgentKernelError } from "../../core/errors.js";
import type { Digest } from "../digest.js";
import { type Platform, platformText } from "../platform.js";
import { canonicalForm, type ImageReference } from "../reference.js";
import { UnpackedLayers } from "../unpack/index.js";
import { Blobs } from "./blobs.js";
import { type Cleared, type ClearingOptions, clear } from "./clearing.js";
import { StoreLayout, scratchFile } from "./layout.js";
import { type Pin, type PinUser, pin, pinUsers } from "./pins.js";
import { digestsOf, type ImageRecord, Records } from "./records.js";
import { storeFailure } from "./store-failure.js";

export type { Download } from "./blobs.js";
export type { Cleared } from "./clearing.js";
export type { PinUser } from "./pins.js";
export { digestsOf, type ImageRecord } from "./records.js";

export interface ListedImage {
  readonly record: ImageRecord;
  /** Of its blobs, compressed as they came; shared ones are counted with each image. */
  readonly sizeBytes: number;
  readonly pulledAtMs: number;
  readonly lastUsedMs: number;
  /** Of its layers once unpacked; null where it is not. */
  readonly unpackedBytes: number | null;
  /** All of its blobs are there. */
  readonly whole: boolean;
}

/** Whether the digest stands for the image itself, and not for a part of it. */
function isNamedBy({ digest, manifestDigest }: ImageRecord, wanted: Digest): boolean {
  return digest === wanted || manifestDigest === wanted;
}

export class ImageStore {
  readonly blobs: Blobs;
  readonly records: Records;
  readonly unpacked: UnpackedLayers;
  readonly #layout: StoreLayout;

  private constructor(layout: StoreLayout) {
    this.#layout = layout;
    this.blobs = new Blobs(layout);
    this.records = new Records(layout);
    this.unpacked = new UnpackedLayers(layout, this.blobs);
  }

  static async open(root: string): Promise<ImageStore> {
    return new ImageStore(await StoreLayout.open(root));
  }

  /** The image that the reference stands for here, if all of it is here. */
  async find(reference: ImageReference, platform: Platform): Promise<ImageRecord | null> {
    const record =
      (await this.records.read(canonicalForm(reference), platformText(platform))) ??
      (reference.digest === null ? null : await this.#findByDigest(reference.digest, platformText(platform)));
    return record !== null && (await this.isWhole(record)) ? record : null;
  }

  /** Keeps the image by this reference too: it stays when the name that it came by points elsewhere. */
  async recordAs(reference: ImageReference, found: ImageRecord): Promise<ImageRecord> {
    const name = canonicalForm(reference);
    if (found.reference === name) return found;
    const record = { ...found, reference: name };
    await this.records.write(record);
    return record;
  }

  /** Under whatever name: what has the digest is what was asked for. */
  async #findByDigest(wanted: Digest, platform: string): Promise<ImageRecord | null> {
    const all = await this.records.all();
    const found = all.find(({ record }) => record.platform === platform && isNamedBy(record, wanted));
    return found?.record ?? null;
  }

  /** Who holds each digest right now. */
  users(): Promise<Map<Digest, PinUser[]>> {
    return pinUsers(this.#layout);
  }

  async isWhole(record: ImageRecord): Promise<boolean> {
    const sizes = await Promise.all(digestsOf(record).map((digest) => this.blobs.sizeOf(digest)));
    return sizes.every((size) => size !== null);
  }

  async list(): Promise<ListedImage[]> {
    const listed: ListedImage[] = [];
    const unpacked = await this.unpacked.sizes();
    for (const { record, lastUsedMs } of await this.records.all()) {
      const sizes = await Promise.all(digestsOf(record).map((digest) => this.blobs.sizeOf(digest)));
      listed.push({
        record,
        sizeBytes: sizes.reduce<number>((sum, size) => sum + (size ?? 0), 0),
        unpackedBytes: sumOf(this.unpacked.layersOf(record), unpacked),
        pulledAtMs: Date.parse(record.pulledAt),
        lastUsedMs,
        whole: !sizes.includes(null),
      });
    }
    return listed;
  }

  /** Forgets the reference for all platforms, or for one. Its blobs go with the next clearing that finds them unneeded. */
  async remove(reference: ImageReference, platform?: Platform): Promise<ImageRecord[]> {
    const name = canonicalForm(reference);
    const removed: ImageRecord[] = [];
    for (const { record } of await this.records.all()) {
      if (record.reference !== name) continue;
      if (platform !== undefined && record.platform !== platformText(platform)) continue;
      await this.forget(record);
      removed.push(record);
    }
    return removed;
  }

  /** From here on no run finds the image. */
  async forget(record: ImageRecord): Promise<void> {
    await this.records.remove(record);
    await this.unpacked.forget(record.reference, record.platform);
  }

  /** Held for as long as a process needs the blobs; ends by itself with the process. */
  pin(digests: readonly Digest[], signal?: AbortSignal): Promise<Pin> {
    return pin(this.#layout, digests, signal);
  }

  /** A fault of the disk under the store, in words for the user. */
  writeFailure(error: unknown): AgentKernelError {
    return storeFailure("be written", this.#layout.root, error);
  }

  /** A file without a name for bytes on their way: nobody else sees it, and it is gone when it is closed. */
  scratchFile(): Promise<FileHandle> {
    return scratchFile(this.#layout);
  }

  clear(options: ClearingOptions = {}): Promise<Cleared> {
    return clear(this.#layout, this.blobs, this.records, this.unpacked, options);
  }
}

/** Null where there is nothing to add up. */
function sumOf(digests: readonly Digest[], sizes: ReadonlyMap<Digest, number>): number | null {
  if (digests.length === 0) return null;
  return digests.reduce((sum, digest) => sum + (sizes.get(digest) ?? 0), 0);
}
