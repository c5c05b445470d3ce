/**
 * Brings images into the store from places that are no registries: archives, folders, engines on this machine. Nothing
 * is believed: every blob is checked against its digest and every layer against what it unpacks to, sizes and counts
 * are bounded, and no name in an archive ever becomes a path. It never unpacks a layer to disk.
 */
import { type FileHandle, open, stat } from "node:fs/promises";
import { join } from "node:path";
import { AgentKernelError, isAgentKernelError } from "../../core/errors.js";
import { escapeText } from "../../core/escape.js";
import { compressionOf, SIGNATURE_BYTES, type UnpackLimits } from "../archive/compression.js";
import { fileContent, type ImageFiles } from "../archive/content.js";
import { TarIndex } from "../archive/tar-index.js";
import { hostPlatform, type Platform } from "../platform.js";
import type { LayerProgress } from "../pull.js";
import { type ImageReference, parseReference } from "../reference.js";
import type { ImageRecord, ImageStore } from "../store/index.js";
import { bringIn } from "./bring-in.js";
import { planFromDockerArchive } from "./docker-archive.js";
import { engineArchive } from "./engine.js";
import { planFromDirFolder, planFromLayout } from "./oci-layout.js";
import type { ImagePlan, Wanted } from "./plan.js";
import { packedFolder, planFromRootfs } from "./rootfs.js";
import type { ImportSource } from "./source.js";
import { type OpenArchive, spool } from "./spool.js";

export { parseSource } from "./source.js";

export interface ImportOptions {
  readonly store: ImageStore;
  /** What the image is called from now on; needed where the source does not say. */
  readonly reference?: ImageReference;
  readonly platform?: Platform;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Asked for only where it is the source. */
  readonly stdin: () => AsyncIterable<Buffer>;
  /** The program that packs folders. */
  readonly packBinary: () => string;
  readonly limits?: UnpackLimits;
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: LayerProgress) => void;
}

export interface Imported {
  readonly record: ImageRecord;
  /** What the name stood for before. */
  readonly previous: ImageRecord | null;
  /** Files of a folder that an image cannot hold: path and kind. */
  readonly skipped: readonly { readonly path: string; readonly why: string }[];
}

export async function importImage(source: ImportSource, options: ImportOptions): Promise<Imported> {
  const job = new Import(options);
  try {
    const plan = await job.plan(source);
    const reference = options.reference ?? referenceFrom(plan.name);
    const platform = options.platform ?? hostPlatform();
    const previous = await options.store.find(reference, platform);
    const record = await bringIn(plan, reference, { ...options, platform });
    return { record, previous, skipped: job.skipped };
  } finally {
    await job.close();
  }
}

/** A tag alone is no name. */
function referenceFrom(name: string | null): ImageReference {
  if (name !== null && /[:/]/.test(name)) return parseReference(name);
  throw new AgentKernelError("invalid_argument", "what is to be imported does not say what the image is called", {
    hint: "give it a name: agentkernel images import SOURCE NAME:TAG",
  });
}

class Import {
  readonly skipped: { path: string; why: string }[] = [];
  readonly #options: ImportOptions;
  readonly #platform: Platform;
  readonly #files: FileHandle[] = [];

  constructor(options: ImportOptions) {
    this.#options = options;
    this.#platform = options.platform ?? hostPlatform();
  }

  async close(): Promise<void> {
    for (const file of this.#files) await file.close();
  }

  async plan(source: ImportSource): Promise<ImagePlan> {
    const { env, signal, stdin } = this.#options;
    switch (source.kind) {
      case "stdin":
        return this.#archive(await this.#spool(stdin()), "any", { name: null });
      case "docker-engine":
      case "podman-engine": {
        const request = { kind: source.kind, name: source.name, env, ...(signal === undefined ? {} : { signal }) };
        return this.#archive(await this.#spool(await engineArchive(request)), "image", { name: null });
      }
      case "docker-archive":
      case "oci-archive":
        return this.#archive(await this.#opened(source.path), source.kind, { name: source.name });
      case "oci-layout":
        return planFromLayout(folderFiles(source.path), { name: source.name }, this.#platform);
      case "dir-folder":
        return planFromDirFolder(folderFiles(source.path));
      case "rootfs":
        return (await isFolder(source.path))
          ? this.#packed(source.path)
          : this.#archive(await this.#opened(source.path), "rootfs", { name: null });
      case "path":
        return (await isFolder(source.path))
          ? this.#folder(source.path)
          : this.#archive(await this.#opened(source.path), "any", { name: null });
    }
  }

  /** A folder is what lies in it: an OCI layout, skopeo's own form, or else a root filesystem. */
  async #folder(path: string): Promise<ImagePlan> {
    const files = folderFiles(path);
    if ((await files.find("oci-layout")) !== null) return planFromLayout(files, { name: null }, this.#platform);
    const isDirForm = (await files.find("version")) !== null && (await files.find("manifest.json")) !== null;
    return isDirForm ? planFromDirFolder(files) : this.#packed(path);
  }

  async #packed(path: string): Promise<ImagePlan> {
    const note = (skipped: string, why: string): void => {
      this.skipped.push({ path: skipped, why });
    };
    const packed = packedFolder(this.#options.packBinary(), path, note, this.#options.signal);
    return planFromRootfs(await this.#spool(packed), this.#platform);
  }

  async #archive(
    archive: OpenArchive,
    kind: "any" | "image" | "docker-archive" | "oci-archive" | "rootfs",
    wanted: Wanted,
  ): Promise<ImagePlan> {
    const files = await TarIndex.read(archive.file, archive.sizeBytes).catch((error: unknown) => {
      throw archive.path === undefined ? error : noArchive(archive.path, error);
    });
    if (kind === "rootfs") return planFromRootfs(archive, this.#platform);
    const isLayout = (await files.find("oci-layout")) !== null && (await files.find("index.json")) !== null;
    const isDocker = (await files.find("manifest.json")) !== null;
    // Newer ones of `docker save` are both; the layout has the digests that the registry knows.
    if (kind === "oci-archive" || (isLayout && kind !== "docker-archive")) {
      return planFromLayout(files, wanted, this.#platform);
    }
    if (isDocker || kind !== "any") return planFromDockerArchive(files, wanted);
    return planFromRootfs(archive, this.#platform);
  }

  async #spool(source: AsyncIterable<Buffer>): Promise<OpenArchive> {
    const { store, limits, signal } = this.#options;
    const spooled = await spool(source, store, limits, signal);
    this.#files.push(spooled.file);
    return spooled;
  }

  /** A plain file is read where it is; one that is compressed, or no file (a pipe), is made plain first. */
  async #opened(path: string): Promise<OpenArchive> {
    const file = await openReadable(path);
    const info = await file.stat();
    if (info.isFile()) {
      const first = Buffer.alloc(SIGNATURE_BYTES);
      await file.read(first, 0, first.length, 0);
      if (compressionOf(first) === "none") {
        this.#files.push(file);
        return { file, sizeBytes: info.size, path };
      }
    }
    return { ...(await this.#spool(streamOf(file, this.#options.signal))), path };
  }
}

/** A generator, so that the stream has its reader before anything can happen to it. The stream closes the file. */
async function* streamOf(file: FileHandle, signal?: AbortSignal): AsyncGenerator<Buffer, void, void> {
  const options = { start: 0, highWaterMark: 1024 * 1024, ...(signal === undefined ? {} : { signal }) };
  yield* file.createReadStream(options) as AsyncIterable<Buffer>;
}

function folderFiles(folder: string): ImageFiles {
  return { find: (name) => fileContent(join(folder, name)) };
}

async function isFolder(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch (error) {
    throw unreadable(path, error);
  }
}

async function openReadable(path: string): Promise<FileHandle> {
  try {
    return await open(path, "r");
  } catch (error) {
    throw unreadable(path, error);
  }
}

/** Whoever names a file that is none most likely named the wrong one. */
function noArchive(path: string, error: unknown): unknown {
  if (!isAgentKernelError(error) || error.code !== "image_invalid") return error;
  return new AgentKernelError("image_invalid", `${escapeText(path)} is no image: ${error.message}`, {
    hint: "name an archive (of docker save, or OCI), a tar of a root filesystem, or a folder that is one",
    cause: error,
  });
}

function unreadable(path: string, cause: unknown): AgentKernelError {
  const code = cause instanceof Error && "code" in cause ? ` (${cause.code})` : "";
  return new AgentKernelError("not_found", `${escapeText(path)} cannot be read${code}`, {
    hint: "write the path of an archive or a folder, or - for standard input",
    cause,
  });
}
