/**
 * A blob on its way into the store. Each writer has a file of its own, marked with its process, so two writers can
 * never damage each other's bytes; what a dead writer left is taken over by rename, which only one can win.
 */
import { createHash, type Hash } from "node:crypto";
import { type FileHandle, open, readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { holderState } from "../../core/process-mark.js";
import { type Digest, digestFromHex, digestHex } from "../digest.js";
import { isCode, type StoreLayout, syncFolder } from "./layout.js";
import { storeFailure } from "./store-failure.js";

/** Left by a writer that gave up in good order. */
const KEPT = "kept";
/** Nobody writes so slowly: a download that stalls ends long before. */
const UNSEEN_OWNER_MS = 60 * 60 * 1000;

export class PartialBlob {
  readonly #layout: StoreLayout;
  readonly #path: string;
  readonly #digest: Digest;
  readonly #file: FileHandle;
  #hash: Hash = createHash("sha256");
  #offset = 0;

  private constructor(layout: StoreLayout, path: string, digest: Digest, file: FileHandle) {
    this.#layout = layout;
    this.#path = path;
    this.#digest = digest;
    this.#file = file;
  }

  /** Goes on from what an earlier writer left, if there is something. */
  static async open(layout: StoreLayout, digest: Digest): Promise<PartialBlob> {
    try {
      const path = join(layout.partial, `${digestHex(digest)}.${layout.mark}.${uniqueWord()}`);
      const takenOver = await takeOver(layout, digest, path);
      const file = await open(path, takenOver ? "r+" : "wx+", 0o600);
      const blob = new PartialBlob(layout, path, digest, file);
      if (takenOver) await blob.#rehash();
      return blob;
    } catch (error) {
      throw storeFailure("be written", layout.root, error);
    }
  }

  get offset(): number {
    return this.#offset;
  }

  async write(chunk: Buffer): Promise<void> {
    try {
      let written = 0;
      while (written < chunk.length) {
        const { bytesWritten } = await this.#file.write(chunk, written, chunk.length - written, this.#offset + written);
        written += bytesWritten;
      }
    } catch (error) {
      throw storeFailure("be written", this.#layout.root, error);
    }
    this.#hash.update(chunk);
    this.#offset += chunk.length;
  }

  async restart(): Promise<void> {
    await this.#file.truncate(0);
    this.#hash = createHash("sha256");
    this.#offset = 0;
  }

  isWhole(): boolean {
    return digestFromHex(this.#hash.copy().digest("hex")) === this.#digest;
  }

  /** Makes it a blob of the store. Only for one that is whole. */
  async commit(): Promise<void> {
    if (!this.isWhole()) throw new Error("a blob that is not whole must not enter the store");
    try {
      await this.#file.sync();
      await this.#file.close();
      await rename(this.#path, this.#layout.blob(this.#digest));
      await syncFolder(this.#layout.blobs);
    } catch (error) {
      throw storeFailure("be written", this.#layout.root, error);
    }
  }

  /** Leaves what came so far to the next writer. */
  async keep(): Promise<void> {
    await this.#file.close();
    if (this.#offset === 0) await rm(this.#path, { force: true });
    else await rename(this.#path, join(this.#layout.partial, `${digestHex(this.#digest)}.${KEPT}.${uniqueWord()}`));
  }

  async #rehash(): Promise<void> {
    const buffer = Buffer.allocUnsafe(1024 * 1024);
    for (;;) {
      const { bytesRead } = await this.#file.read(buffer, 0, buffer.length, this.#offset);
      if (bytesRead === 0) return;
      this.#hash.update(buffer.subarray(0, bytesRead));
      this.#offset += bytesRead;
    }
  }
}

function uniqueWord(): string {
  return `${process.hrtime.bigint().toString(36)}${Math.floor(Math.random() * 0x7fffffff).toString(36)}`;
}

interface Left {
  readonly path: string;
  readonly sizeBytes: number;
}

/** Parts of a blob that nobody works on, the longest first. */
async function leftParts(layout: StoreLayout, prefix: string): Promise<Left[]> {
  const left: Left[] = [];
  for (const name of await readdir(layout.partial)) {
    if (!name.startsWith(prefix)) continue;
    const path = join(layout.partial, name);
    const info = await stat(path).catch((error: unknown) => {
      if (isCode(error, "ENOENT")) return null;
      throw error;
    });
    if (info === null) continue;
    const mark = name.split(".")[1] ?? "";
    const state = mark === KEPT ? "dead" : holderState(mark);
    const unseen = state === "unknown" && Date.now() - info.mtimeMs > UNSEEN_OWNER_MS;
    if (state === "dead" || unseen) left.push({ path, sizeBytes: info.size });
  }
  return left.sort((a, b) => b.sizeBytes - a.sizeBytes);
}

async function takeOver(layout: StoreLayout, digest: Digest, path: string): Promise<boolean> {
  for (const left of await leftParts(layout, `${digestHex(digest)}.`)) {
    try {
      await rename(left.path, path);
      return true;
    } catch (error) {
      // Another process was faster.
      if (!isCode(error, "ENOENT")) throw error;
    }
  }
  return false;
}

/** How many bytes of the blob any writer has, for showing how far another process is. */
export async function longestPart(layout: StoreLayout, digest: Digest): Promise<number> {
  let longest = 0;
  for (const name of await readdir(layout.partial)) {
    if (!name.startsWith(`${digestHex(digest)}.`)) continue;
    const info = await stat(join(layout.partial, name)).catch(() => null);
    longest = Math.max(longest, info?.size ?? 0);
  }
  return longest;
}

/** Removes what dead writers left, and files that were never finished. */
export async function removeLeftParts(layout: StoreLayout): Promise<number> {
  let freedBytes = 0;
  for (const { path, sizeBytes } of await leftParts(layout, "")) {
    await rm(path, { force: true });
    freedBytes += sizeBytes;
  }
  return freedBytes;
}
