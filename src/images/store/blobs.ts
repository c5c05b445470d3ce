/** The store's blobs: each comes in once, whole and verified, however many processes ask for it at the same time. */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { open, readdir, readFile, rm, stat } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";
import { AgentKernelError } from "../../core/errors.js";
import { type Digest, digestFromHex, digestOf, shortDigest } from "../digest.js";
import type { BlobDescriptor } from "../manifest.js";
import { isCode, type StoreLayout, writeWhole } from "./layout.js";
import { lockReleased, tryLock } from "./lock.js";
import { longestPart, PartialBlob } from "./partial-blob.js";
import { storeFailure } from "./store-failure.js";

/** Writes a blob from where the partial blob is to its end. */
export type Download = (into: PartialBlob) => Promise<void>;

interface EnsureOptions {
  readonly onProgress?: (doneBytes: number) => void;
  readonly signal?: AbortSignal;
}

const LOOK_MS = 250;
/** Longer than any pause that a working download makes. A holder that shows nothing for this long is not waited for. */
const STUCK_MS = 90_000;

export class Blobs {
  readonly #layout: StoreLayout;

  constructor(layout: StoreLayout) {
    this.#layout = layout;
  }

  path(digest: Digest): string {
    return this.#layout.blob(digest);
  }

  async sizeOf(digest: Digest): Promise<number | null> {
    try {
      return (await stat(this.path(digest))).size;
    } catch (error) {
      if (isCode(error, "ENOENT")) return null;
      throw storeFailure("be read", this.#layout.root, error);
    }
  }

  /** A file of another size than it must have was damaged after it came in: it is dropped, to be had again. */
  async has({ digest, sizeBytes }: BlobDescriptor): Promise<boolean> {
    const found = await this.sizeOf(digest);
    if (found === null || found === sizeBytes) return found !== null;
    if ((await this.#hashOfFile(digest)) === digest) {
      throw new AgentKernelError(
        "image_invalid",
        `the image's manifest says ${sizeBytes} bytes for ${shortDigest(digest)}…, which has ${found}`,
      );
    }
    await rm(this.path(digest), { force: true });
    return false;
  }

  async put(bytes: Uint8Array): Promise<Digest> {
    const digest = digestOf(bytes);
    if ((await this.sizeOf(digest)) !== bytes.length) await writeWhole(this.#layout, this.path(digest), bytes);
    return digest;
  }

  /** A small blob, verified again. */
  async read(digest: Digest): Promise<Buffer> {
    let bytes: Buffer;
    try {
      bytes = await readFile(this.path(digest));
    } catch (error) {
      throw storeFailure("be read", this.#layout.root, error);
    }
    if (digestOf(bytes) === digest) return bytes;
    throw new AgentKernelError("digest_mismatch", `${shortDigest(digest)}… in the image store is damaged`, {
      hint: "remove the image and pull it again",
    });
  }

  /** How it begins; fewer bytes where it is shorter. */
  async firstBytes(digest: Digest, count: number): Promise<Buffer> {
    try {
      const file = await open(this.path(digest), "r");
      try {
        const { buffer, bytesRead } = await file.read(Buffer.alloc(count), 0, count, 0);
        return buffer.subarray(0, bytesRead);
      } finally {
        await file.close();
      }
    } catch (error) {
      throw storeFailure("be read", this.#layout.root, error);
    }
  }

  async all(): Promise<{ digest: Digest; sizeBytes: number }[]> {
    const found: { digest: Digest; sizeBytes: number }[] = [];
    for (const name of await readdir(this.#layout.blobs)) {
      if (!/^[0-9a-f]{64}$/.test(name)) continue;
      const digest = digestFromHex(name);
      const sizeBytes = await this.sizeOf(digest);
      if (sizeBytes !== null) found.push({ digest, sizeBytes });
    }
    return found;
  }

  async remove(digest: Digest): Promise<void> {
    await rm(this.path(digest), { force: true });
  }

  /** Makes sure that the blob is there. One process downloads; others wait for it, and take over if it dies. */
  async ensure(blob: BlobDescriptor, download: Download, options: EnsureOptions = {}): Promise<void> {
    const name = this.#layout.lockName(blob.digest.slice("sha256:".length));
    const { signal, onProgress } = options;
    let seen = { bytes: -1, atMs: Date.now() };
    for (;;) {
      signal?.throwIfAborted();
      if (await this.has(blob)) break;
      const lock = await tryLock(name);
      const stuck = Date.now() - seen.atMs > STUCK_MS;
      if (lock !== null || stuck) {
        try {
          if (!(await this.has(blob))) await this.#bringIn(blob, download, onProgress);
        } finally {
          await lock?.release();
        }
        break;
      }
      await lockReleased(name, LOOK_MS, signal);
      const bytes = await longestPart(this.#layout, blob.digest);
      if (bytes !== seen.bytes) {
        seen = { bytes, atMs: Date.now() };
        onProgress?.(Math.min(bytes, blob.sizeBytes));
      }
      await pause(Math.random() * 10);
    }
    onProgress?.(blob.sizeBytes);
  }

  async #bringIn(blob: BlobDescriptor, download: Download, onProgress?: (doneBytes: number) => void): Promise<void> {
    const partial = await PartialBlob.open(this.#layout, blob.digest);
    try {
      if (partial.offset > blob.sizeBytes) await partial.restart();
      onProgress?.(partial.offset);
      const resumed = partial.offset > 0;
      if (partial.offset < blob.sizeBytes) await download(partial);
      if (resumed && !partial.isWhole()) {
        // What an earlier writer left may be what is wrong.
        await partial.restart();
        await download(partial);
      }
      if (!partial.isWhole()) {
        await partial.restart();
        throw new AgentKernelError("digest_mismatch", `what came for ${shortDigest(blob.digest)}… is something else`, {
          hint: "where it came from it is damaged, or something in between changed it; nothing of it was used",
        });
      }
    } catch (error) {
      await partial.keep();
      throw error;
    }
    await partial.commit();
  }

  async #hashOfFile(digest: Digest): Promise<Digest> {
    const hash = createHash("sha256");
    for await (const chunk of createReadStream(this.path(digest))) hash.update(chunk);
    return digestFromHex(hash.digest("hex"));
  }
}
