/** Finds a process by what it runs and where. */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";

/** The one that runs this program in this folder. */
export function processIn(folder: string, program: string): number {
  const found = readdirSync("/proc").filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      return readlinkSync(`/proc/${pid}/exe`).endsWith(`/${program}`) && readlinkSync(`/proc/${pid}/cwd`) === folder;
    } catch {
      // It is gone, or not ours to look at.
      return false;
    }
  });
  if (found.length !== 1) throw new Error(`${found.length} processes run ${program} in ${folder}`);
  return Number(found[0]);
}

export function residentMiB(pid: number): number {
  const kib = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1];
  return Number(kib) / 1024;
}
