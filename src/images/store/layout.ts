/** Where the store keeps what. Nothing in `blobs` or `refs` is ever seen half: it comes there by rename. */
import { randomBytes } from "node:crypto";
import { chmod, type FileHandle, link, mkdir, open, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { AgentKernelError } from "../../core/errors.js";
import { ownMark } from "../../core/process-mark.js";
import { type Digest, digestHex } from "../digest.js";
import { storeFailure } from "./store-failure.js";

export class StoreLayout {
  readonly root: string;
  /** Names this store's locks; known to those who may read the store. */
  readonly id: string;
  /** This process's, on every file that only it works on. */
  readonly mark: string;

  private constructor(root: string, id: string, mark: string) {
    this.root = root;
    this.id = id;
    this.mark = mark;
  }

  static async open(root: string): Promise<StoreLayout> {
    try {
      for (const folder of ["blobs/sha256", "partial", "refs", "pins", "ready", "layers", "unpacking"]) {
        await mkdir(join(root, folder), { recursive: true, mode: 0o700 });
      }
      await makePrivateRoot(root);
      const mark = ownMark();
      return new StoreLayout(root, await storeId(root, mark), mark);
    } catch (error) {
      throw storeFailure("be opened", root, error);
    }
  }

  get blobs(): string {
    return join(this.root, "blobs", "sha256");
  }

  blob(digest: Digest): string {
    return join(this.blobs, digestHex(digest));
  }

  get partial(): string {
    return join(this.root, "partial");
  }

  get refs(): string {
    return join(this.root, "refs");
  }

  get pins(): string {
    return join(this.root, "pins");
  }

  lockName(what: string): string {
    return `agentkernel-${this.id}-${what}`;
  }

  temporary(): string {
    return join(this.partial, temporaryName(this.mark));
  }
}

/** Whoever can write here decides what sandboxes run, so it belongs to one user, and is closed to all others. */
async function makePrivateRoot(root: string): Promise<void> {
  const { uid, mode } = await stat(root);
  if (uid !== process.geteuid?.()) {
    throw new AgentKernelError("conflict", `the image store ${root} belongs to another user`, {
      hint: "use a folder of your own: set XDG_DATA_HOME, or HOME",
    });
  }
  if ((mode & 0o077) !== 0) await chmod(root, 0o700);
}

function temporaryName(mark: string): string {
  return `new.${mark}.${randomBytes(8).toString("hex")}`;
}

async function storeId(root: string, mark: string): Promise<string> {
  const path = join(root, "id");
  const existing = await readId(path);
  if (existing !== null) return existing;
  const fresh = join(root, "partial", temporaryName(mark));
  await writeFile(fresh, randomBytes(8).toString("hex"), { mode: 0o600, flush: true });
  try {
    // Unlike a rename, a link never replaces the id that another process made meanwhile.
    await link(fresh, path);
  } catch (error) {
    if (!isCode(error, "EEXIST")) throw error;
  } finally {
    await rm(fresh, { force: true });
  }
  const made = await readId(path);
  if (made === null) throw new Error(`${path} holds no id`);
  return made;
}

async function readId(path: string): Promise<string | null> {
  try {
    const text = await readFile(path, "utf8");
    if (/^[0-9a-f]{16}$/.test(text)) return text;
    throw new Error(`${path} is damaged`);
  } catch (error) {
    if (isCode(error, "ENOENT")) return null;
    throw error;
  }
}

export function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}

/** Makes a small file appear whole, and stay after a power cut. */
export async function writeWhole(layout: StoreLayout, path: string, bytes: Uint8Array | string): Promise<void> {
  const fresh = layout.temporary();
  try {
    await writeFile(fresh, bytes, { mode: 0o600, flag: "wx", flush: true });
    await rename(fresh, path);
    await syncFolder(join(path, ".."));
  } catch (error) {
    await rm(fresh, { force: true });
    throw storeFailure("be written", layout.root, error);
  }
}

export async function scratchFile(layout: StoreLayout): Promise<FileHandle> {
  const path = layout.temporary();
  try {
    const file = await open(path, "wx+", 0o600);
    await rm(path);
    return file;
  } catch (error) {
    throw storeFailure("be written", layout.root, error);
  }
}

export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
