/** What a process has of the machine's memory: its own, and its share of what it has with others. */
import { readFileSync } from "node:fs";

export function pssMiB(pid) {
  const found = /^Pss: +(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"));
  if (!found) throw new Error(`process ${pid} has no proportional memory`);
  return Number(found[1]) / 1024;
}
