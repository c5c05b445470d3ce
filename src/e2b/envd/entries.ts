/** Files and folders as E2B's clients read them. */
import { posix } from "node:path";
import { isAgentKernelError } from "../../core/errors.js";
import type { FileStat, GuestFiles } from "../../guest/index.js";
import { USER } from "../sandboxes/home.js";

type Listed = Awaited<ReturnType<GuestFiles["list"]>>["entries"][number];

const types: Readonly<Record<FileStat["type"], string>> = {
  file: "FILE_TYPE_FILE",
  dir: "FILE_TYPE_DIRECTORY",
  symlink: "FILE_TYPE_SYMLINK",
  other: "FILE_TYPE_UNSPECIFIED",
};

const typeChars: Readonly<Record<FileStat["type"], string>> = { file: "-", dir: "d", symlink: "L", other: "?" };

type Shown = Listed | FileStat;

export function entryOf(path: string, entry: Shown): object {
  const { type, sizeBytes, mode, mtimeMs } = entry;
  const [owner, group] = "uid" in entry ? [nameOf(entry.uid), nameOf(entry.gid)] : ["root", "root"];
  return {
    name: posix.basename(path) || "/",
    type: types[type],
    path,
    size: String(sizeBytes),
    mode: mode & 0o7777,
    permissions: `${typeChars[type]}${permissionsOf(mode)}`,
    owner,
    group,
    modifiedTime: new Date(mtimeMs).toISOString(),
    ...("target" in entry && entry.target !== null ? { symlinkTarget: entry.target } : {}),
  };
}

/** The sandbox's names of users are its image's, which is not asked. */
function nameOf(id: number): string {
  return id === 0 ? "root" : id === 1000 ? USER : String(id);
}

function permissionsOf(mode: number): string {
  return [6, 3, 0]
    .map((shift) => [4, 2, 1].map((bit, at) => ((mode >> shift) & bit ? "rwx"[at] : "-")).join(""))
    .join("");
}

/** Undefined where there is nothing of that name. */
export async function statIfThere(files: GuestFiles, path: string): Promise<FileStat | undefined> {
  try {
    return await files.stat(path);
  } catch (error) {
    if (isAgentKernelError(error) && error.details.code === "not_found") return undefined;
    throw error;
  }
}

interface Walk {
  /** 1: what the folder itself has. */
  readonly depth: number;
  readonly most: number;
}

/** What a folder has, folders before what they have. */
export async function walk(
  files: GuestFiles,
  folder: string,
  { depth, most }: Walk,
): Promise<readonly (readonly [string, Listed])[]> {
  const found: (readonly [string, Listed])[] = [];
  const look = async (path: string, left: number): Promise<void> => {
    const { entries } = await files.list(path);
    for (const entry of [...entries].sort((one, other) => (one.name < other.name ? -1 : 1))) {
      if (found.length >= most) return;
      const inside = posix.join(path, entry.name);
      found.push([inside, entry]);
      if (entry.type !== "dir" || left <= 1) continue;
      // It may be gone by now.
      await look(inside, left - 1).catch((error: unknown) => {
        if (!isAgentKernelError(error) || error.code !== "file_error") throw error;
      });
    }
  };
  await look(folder, depth);
  return found;
}
