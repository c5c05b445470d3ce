/** Which image a reference stands for in this store. A record appears whole, and only after all that it names. */
import { readdir, readFile, rm, stat, utimes } from "node:fs/promises";
import { join } from "node:path";
import { type Digest, isDigest } from "../digest.js";
import { asObject, fieldOf, type JsonObject, parseJsonObject, textField } from "../json-shape.js";
import type { BlobDescriptor, LayerDescriptor } from "../manifest.js";
import { layerCompressions } from "../media-types.js";
import { isCode, type StoreLayout, writeWhole } from "./layout.js";
import { recordKey } from "./record-key.js";
import { storeFailure } from "./store-failure.js";

export interface ImageRecord {
  /** Canonical form. */
  readonly reference: string;
  /** `os/architecture` or `os/architecture/variant`. */
  readonly platform: string;
  /** What the reference points to: an index, or the manifest itself. */
  readonly digest: Digest;
  readonly manifestDigest: Digest;
  readonly config: BlobDescriptor;
  /** Lowest first. */
  readonly layers: readonly LayerDescriptor[];
  /** ISO 8601. */
  readonly pulledAt: string;
}

interface StoredRecord {
  readonly record: ImageRecord;
  readonly lastUsedMs: number;
}

/** Every blob that the record needs. */
export function digestsOf({ digest, manifestDigest, config, layers }: Omit<ImageRecord, "pulledAt">): Digest[] {
  return [...new Set([digest, manifestDigest, config.digest, ...layers.map((layer) => layer.digest)])];
}

export class Records {
  readonly #layout: StoreLayout;

  constructor(layout: StoreLayout) {
    this.#layout = layout;
  }

  async write(record: ImageRecord): Promise<void> {
    const path = this.#path(record.reference, record.platform);
    await writeWhole(this.#layout, path, `${JSON.stringify(record, null, 1)}\n`);
  }

  /** Null where there is none, or one that no longer reads: pulling again repairs it. */
  async read(reference: string, platform: string): Promise<ImageRecord | null> {
    const record = await this.#readFile(this.#path(reference, platform));
    return record?.reference === reference && record.platform === platform ? record : null;
  }

  async all(): Promise<StoredRecord[]> {
    const found: StoredRecord[] = [];
    for (const name of await readdir(this.#layout.refs)) {
      const path = join(this.#layout.refs, name);
      const record = await this.#readFile(path);
      if (record === null) continue;
      const info = await stat(path).catch(() => null);
      if (info !== null) found.push({ record, lastUsedMs: info.mtimeMs });
    }
    return found.sort((a, b) => (a.record.reference < b.record.reference ? -1 : 1));
  }

  /** Notes that the image was used now: the least recently used goes first when room is needed. */
  async touch({ reference, platform }: ImageRecord, now: Date = new Date()): Promise<void> {
    try {
      await utimes(this.#path(reference, platform), now, now);
    } catch (error) {
      // Removed meanwhile by another process.
      if (!isCode(error, "ENOENT")) throw storeFailure("be written", this.#layout.root, error);
    }
  }

  async remove({ reference, platform }: ImageRecord): Promise<void> {
    await rm(this.#path(reference, platform), { force: true });
  }

  async #readFile(path: string): Promise<ImageRecord | null> {
    try {
      return parseRecord(parseJsonObject(await readFile(path)));
    } catch (error) {
      if (isCode(error, "ENOENT")) return null;
      throw storeFailure("be read", this.#layout.root, error);
    }
  }

  #path(reference: string, platform: string): string {
    return join(this.#layout.refs, `${recordKey(reference, platform)}.json`);
  }
}

function parseRecord(object: JsonObject | null): ImageRecord | null {
  if (object === null) return null;
  const reference = textField(object, "reference");
  const platform = textField(object, "platform");
  const pulledAt = textField(object, "pulledAt");
  const digest = fieldOf(object, "digest");
  const manifestDigest = fieldOf(object, "manifestDigest");
  const config = parseBlob(fieldOf(object, "config"));
  const listed = fieldOf(object, "layers");
  const layers = Array.isArray(listed) ? listed.map(parseLayer) : [null];
  if (reference === null || platform === null || pulledAt === null || config === null) return null;
  if (!isDigest(digest) || !isDigest(manifestDigest)) return null;
  if (!layers.every((layer): layer is LayerDescriptor => layer !== null)) return null;
  return { reference, platform, digest, manifestDigest, config, layers, pulledAt };
}

function parseBlob(value: unknown): BlobDescriptor | null {
  const object = asObject(value);
  if (object === null) return null;
  const digest = fieldOf(object, "digest");
  const sizeBytes = fieldOf(object, "sizeBytes");
  return isDigest(digest) && typeof sizeBytes === "number" ? { digest, sizeBytes } : null;
}

function parseLayer(value: unknown): LayerDescriptor | null {
  const blob = parseBlob(value);
  const named = textField(asObject(value) ?? {}, "compression");
  const compression = layerCompressions.find((known) => known === named);
  return blob === null || compression === undefined ? null : { ...blob, compression };
}
