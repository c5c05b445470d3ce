/**
 * Folders of a sandbox as tar archives, both ways. Names inside an archive, and names that a guest lists, are somebody
 * else's: they are only ever paths inside the sandbox, below the folder that was asked for.
 */
import { Buffer } from "node:buffer";
import { AgentKernelError } from "../../core/errors.js";
import type { DirEntry, GuestFiles } from "../../guest/index.js";
import { tarEntries } from "./read.js";
import { tarEnd, tarHeader, tarPadding } from "./write.js";

const MAX_ENTRIES = 200_000;
const MAX_DEPTH = 64;

/** Files, folders and links; what else there is cannot be carried and is left out. */
export async function* packFolder(files: GuestFiles, root: string): AsyncGenerator<Buffer> {
  let entries = 0;
  yield* below(root, "", 0);
  yield tarEnd;

  async function* below(folder: string, prefix: string, depth: number): AsyncGenerator<Buffer> {
    if (depth > MAX_DEPTH) throw tooMuch(`it is deeper than ${MAX_DEPTH} folders`);
    const { entries: listed, truncated } = await files.list(folder);
    if (truncated) throw tooMuch(`${folder} has more entries than are listed`);
    for (const entry of listed) {
      if (!isPlainName(entry.name)) continue;
      if (++entries > MAX_ENTRIES) throw tooMuch(`it has more than ${MAX_ENTRIES} entries`);
      yield* one(entry, `${folder === "/" ? "" : folder}/${entry.name}`, `${prefix}${entry.name}`, depth);
    }
  }

  async function* one(entry: DirEntry, path: string, name: string, depth: number): AsyncGenerator<Buffer> {
    const { mode, mtimeMs } = entry;
    if (entry.type === "dir") {
      yield tarHeader({ name: `${name}/`, type: "5", mode, mtimeMs, sizeBytes: 0 });
      yield* below(path, `${name}/`, depth + 1);
    } else if (entry.type === "symlink") {
      const { target } = await files.stat(path);
      yield tarHeader({ name, type: "2", mode, mtimeMs, sizeBytes: 0, linkName: target ?? "" });
    } else if (entry.type === "file") {
      yield* fileEntry(path, name);
    }
  }

  async function* fileEntry(path: string, name: string): AsyncGenerator<Buffer> {
    const { info, chunks } = await files.openFile(path);
    const { mode, mtimeMs, sizeBytes } = info;
    yield tarHeader({ name, type: "0", mode, mtimeMs, sizeBytes });
    // A file may grow or shrink while it is read; its entry is as long as its header says.
    let left = sizeBytes;
    for await (const chunk of chunks) {
      const part = chunk.subarray(0, left);
      left -= part.length;
      if (part.length > 0) yield Buffer.from(part);
      if (left === 0) break;
    }
    for (; left > 0; left -= Math.min(left, 65_536)) yield Buffer.alloc(Math.min(left, 65_536));
    yield tarPadding(sizeBytes);
  }
}

/** Makes what the archive has, below `root`. Entries before a fault stay. */
export async function unpackInto(files: GuestFiles, root: string, archive: AsyncIterable<Buffer>): Promise<void> {
  await files.mkdir(root, { parents: true });
  let entries = 0;
  for await (const { name, type, mode, content } of tarEntries(archive)) {
    if (++entries > MAX_ENTRIES) throw tooMuch(`the archive has more than ${MAX_ENTRIES} entries`);
    const path = below(root, name);
    if (type === "dir") await files.mkdir(path, { parents: true });
    else if (type === "file") await files.writeFile(path, content, { mode: mode & 0o777, parents: true });
    else refuseEntry(name, "only files and folders are taken from an archive");
  }
}

function below(root: string, name: string): string {
  const parts = name.split("/").filter((part) => part !== "" && part !== ".");
  if (name.startsWith("/") || parts.includes("..")) refuseEntry(name, "its name leads out of the folder");
  return [root === "/" ? "" : root, ...parts].join("/") || "/";
}

function refuseEntry(name: string, why: string): never {
  throw new AgentKernelError("file_error", `${JSON.stringify(name.slice(0, 200))} in the archive is refused: ${why}`, {
    details: { code: "invalid", field: "body" },
  });
}

function isPlainName(name: string): boolean {
  return name !== "" && name !== "." && name !== ".." && !name.includes("/") && !name.includes("\0");
}

function tooMuch(why: string): AgentKernelError {
  return new AgentKernelError("file_error", `the folder is too large for an archive: ${why}`, {
    details: { code: "too_large" },
  });
}
