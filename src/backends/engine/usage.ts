/**
 * What a container uses, from the kernel's own account of it. An engine in another kernel (a virtual machine) keeps
 * that where it cannot be seen from here: then nothing is known.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { SandboxUsage } from "../../core/backend.js";

export const nothingKnown: SandboxUsage = {
  memoryBytes: null,
  memoryPeakBytes: null,
  cpuUs: null,
  processes: null,
  oomKills: 0,
  pidsDenied: 0,
};

const MOUNT = "/sys/fs/cgroup";

/** `pid` is of the container's first process, `id` the container's, which stands in the path of its groups. */
export function usageOf(pid: number, id: string): SandboxUsage {
  const groups = groupsOf(pid, id);
  if (groups === null) return nothingKnown;
  const { memory, pids, cpu, isUnified } = groups;
  const number = (folder: string | null, name: string) => (folder === null ? null : numberIn(join(folder, name)));
  const counted = (folder: string | null, name: string, word: string) =>
    folder === null ? 0 : (wordIn(join(folder, name), word) ?? 0);
  const cpuNs = isUnified ? null : number(cpu, "cpuacct.usage");
  return {
    memoryBytes: number(memory, isUnified ? "memory.current" : "memory.usage_in_bytes"),
    memoryPeakBytes: number(memory, isUnified ? "memory.peak" : "memory.max_usage_in_bytes"),
    cpuUs: isUnified ? (cpu === null ? null : wordIn(join(cpu, "cpu.stat"), "usage_usec")) : microseconds(cpuNs),
    processes: number(pids, "pids.current"),
    oomKills: counted(memory, isUnified ? "memory.events" : "memory.oom_control", "oom_kill"),
    pidsDenied: counted(pids, "pids.events", "max"),
  };
}

interface Groups {
  readonly memory: string | null;
  readonly pids: string | null;
  readonly cpu: string | null;
  readonly isUnified: boolean;
}

/** Whether the process is the container's in this very kernel, and not the number of one in a virtual machine. */
export function isOfThisKernel(pid: number, id: string): boolean {
  return groupsOf(pid, id) !== null;
}

/** Null where the process is not the container's: it has ended, or its number is another kernel's. */
function groupsOf(pid: number, id: string): Groups | null {
  const lines = (read(`/proc/${pid}/cgroup`) ?? "").trim().split("\n");
  const paths = new Map<string, string>();
  for (const line of lines) {
    const [, controllers = "", path = ""] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
    if (path.includes(id)) for (const controller of controllers.split(",")) paths.set(controller, path);
  }
  const find = (controller: string) => {
    const path = paths.get(controller);
    return path === undefined ? null : join(MOUNT, controller, path);
  };
  const memory = find("memory");
  if (memory !== null) return { memory, pids: find("pids"), cpu: find("cpuacct"), isUnified: false };
  const unified = paths.get("");
  if (unified === undefined) return null;
  const folder = join(MOUNT, unified);
  return { memory: folder, pids: folder, cpu: folder, isUnified: true };
}

function microseconds(nanoseconds: number | null): number | null {
  return nanoseconds === null ? null : Math.round(nanoseconds / 1000);
}

function numberIn(path: string): number | null {
  const text = read(path)?.trim();
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : null;
}

function wordIn(path: string, word: string): number | null {
  const found = new RegExp(`^${word} (\\d+)$`, "m").exec(read(path) ?? "")?.[1];
  return found === undefined ? null : Number(found);
}

function read(path: string): string | null {
  try {
    return readFileSync(path, "latin1");
  } catch (error) {
    if (error instanceof Error && "code" in error) return null;
    throw error;
  }
}
