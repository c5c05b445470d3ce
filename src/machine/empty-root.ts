/** A disk with an empty folder on it, for the proof that machines start here: programs of ours are all that it runs. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { AgentKernelError } from "../core/errors.js";
import { sha256OfFile } from "../core/file-digest.js";

const run = promisify(execFile);
const NAME = "empty.erofs";
/** As root images are made: the same folder is the same disk. */
const WORDS = ["-U", "00000000-0000-4000-8000-000000000000", "-T0", "--all-root"];

export interface EmptyRoot {
  readonly path: string;
  readonly digest: string;
}

/** In `folder`, the owner's own. */
export async function ensureEmptyRoot(folder: string): Promise<EmptyRoot> {
  const path = join(folder, NAME);
  if (!existsSync(path)) await make(folder, path);
  return { path, digest: await sha256OfFile(path) };
}

async function make(folder: string, path: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const work = await mkdtemp(join(folder, ".empty-"));
  try {
    await mkdir(join(work, "root"), { mode: 0o755 });
    await run("mkfs.erofs", [...WORDS, join(work, NAME), join(work, "root")], {
      env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin" },
    });
    await rename(join(work, NAME), path);
  } catch (cause) {
    if (cause instanceof Error && "code" in cause && cause.code === "ENOENT") {
      throw new AgentKernelError("backend_unavailable", "mkfs.erofs is not installed", {
        hint: "install erofs-utils, which has it: sudo apt-get install -y erofs-utils",
        cause,
      });
    }
    throw cause;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}
