/**
 * The disk of a machine that stays: a file with holes, as long as the policy's limit. It is made here, and read by the
 * machine's own kernel alone: nothing on the host ever looks into what a sandbox wrote.
 */
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdir, open, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { diskFailure } from "../../../core/disk-failure.js";
import { AgentKernelError } from "../../../core/errors.js";
import { escapeText } from "../../../core/escape.js";
import { findProgram } from "../../../core/find-program.js";

/** The folder in a state folder's disk that `ak-jail` copies as a whole (native/jail/src/keep/copy). */
const FOLDER = join("disk", "machine");
const MAKER = "mke2fs";
const WHERE = "/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin";
const MAKE_MS = 120_000;
/** A journal and a table of files leave nothing below this. */
const LEAST_MIB = 16;
/** Whatever this host's own settings are. Without a journal a machine that was killed would have lost its files. */
const FEATURES = [
  ...["none", "has_journal", "ext_attr", "dir_index", "filetype", "extent", "flex_bg", "sparse_super", "large_file"],
  ...["huge_file", "dir_nlink", "extra_isize", "metadata_csum", "64bit"],
];
/** Inodes of this size have times finer than seconds, by which a changed file is known. */
const INODE_BYTES = 256;
const BLOCK_BYTES = 4096;
/** Of the journal, which is soon written in full and copied with the disk. Small disks have a smaller one. */
const JOURNAL_MIB = 8;
const LARGE_MIB = 256;
/** Tables are written by the machine when it needs them, so that a new disk is all holes. */
const OPTIONS = [
  ...["-q", "-F", "-O", FEATURES.join(","), "-I", String(INODE_BYTES), "-b", String(BLOCK_BYTES)],
  ...["-m", "0", "-E", "lazy_itable_init=1,lazy_journal_init=1,nodiscard"],
];

export function diskPath(stateDir: string): string {
  return join(stateDir, FOLDER, "disk.ext4");
}

export function diskMib(wantedMib: number): number {
  return Math.max(LEAST_MIB, Math.ceil(wantedMib));
}

/** Empty, in the place of one that was there. */
export async function makeDisk(stateDir: string, mib: number): Promise<void> {
  const maker = findProgram(MAKER, `${process.env.PATH ?? ""}:${WHERE}`);
  if (maker === null) {
    throw new AgentKernelError("backend_unavailable", `there is no ${MAKER}, which makes the disks of machines`, {
      hint: "on Debian: apt-get install e2fsprogs",
    });
  }
  await mkdir(join(stateDir, FOLDER), { recursive: true, mode: 0o700 });
  const fresh = `${diskPath(stateDir)}.${randomBytes(6).toString("hex")}`;
  try {
    const file = await open(fresh, "wx", 0o600);
    await file.truncate(mib * 2 ** 20).finally(() => file.close());
    const options = { timeout: MAKE_MS, env: { PATH: WHERE, MKE2FS_CONFIG: "/dev/null" } };
    const journal = mib < LARGE_MIB ? [] : ["-J", `size=${JOURNAL_MIB}`];
    await promisify(execFile)(maker, [...OPTIONS, ...journal, fresh], options).catch((cause: { stderr?: string }) => {
      const why = escapeText((cause.stderr ?? String(cause)).trim().slice(-500));
      throw new AgentKernelError("sandbox_start_failed", `the machine's disk could not be made: ${why}`, { cause });
    });
    await rename(fresh, diskPath(stateDir));
  } catch (error) {
    throw diskFailure("the machine's disk could not be made", stateDir, error);
  } finally {
    await rm(fresh, { force: true });
  }
}
