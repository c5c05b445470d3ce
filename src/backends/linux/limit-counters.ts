/**
 * What a sandbox's limits did so far, looked up by ourselves where one cgroup (v2) has all of them: asking the jail takes
 * a round trip that somebody waits for.
 */
import { closeSync, openSync, readSync } from "node:fs";
import { join } from "node:path";
import type { LimitCounts } from "../../core/backend.js";

const CGROUPS = "/sys/fs/cgroup";
const OWN_CGROUP = /^0::(\/(?:.*\/)?agentkernel-[^/\n]+)\n$/;
/** Far above what these files say, and little enough to be a part of a buffer that is there already. */
const MOST_BYTES = 2048;

/** Null where the limits of this process are elsewhere, or cannot be read from here. */
export function limitCounters(pid: number): (() => LimitCounts | null) | null {
  const text = read(`/proc/${pid}/cgroup`);
  // Where there are more hierarchies than this one, the first line is of another.
  const [, path] = (text?.startsWith("0::") ? OWN_CGROUP.exec(text) : null) ?? [];
  if (path === undefined) return null;
  const folder = join(CGROUPS, path);
  return () => {
    const memory = read(join(folder, "memory.events"));
    const pids = read(join(folder, "pids.events"));
    if (memory === null || pids === null) return null;
    return { oomKills: counter(memory, "oom_kill"), pidsDenied: counter(pids, "max") };
  };
}

function counter(text: string, key: string): number {
  const line = text.split("\n").find((one) => one.startsWith(`${key} `));
  return line === undefined ? 0 : Number(line.slice(key.length + 1));
}

function read(path: string): string | null {
  let fd = -1;
  try {
    fd = openSync(path, "r");
    const bytes = Buffer.allocUnsafe(MOST_BYTES);
    return bytes.toString("latin1", 0, readSync(fd, bytes, 0, MOST_BYTES, 0));
  } catch {
    // Whoever asks has another way to learn it.
    return null;
  } finally {
    if (fd >= 0) closeSync(fd);
  }
}
