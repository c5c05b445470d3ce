/** Where tests of virtual machines have a kernel, a root and saved machines: all of it outlives a run of the tests. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { contractRoot } from "./debian-root.js";
import { repository } from "./repository.js";

const shared = join(repository, ".build");
export const kernelFolder = join(shared, "kernels", "debian");
export const machineCache = join(shared, "machine-cache");

/** The contract's root as a folder. */
export function contractFolder(): string {
  const folder = join(shared, "contract-root");
  if (existsSync(folder)) return folder;
  const fresh = `${folder}.${process.pid}`;
  try {
    mkdirSync(fresh, { mode: 0o755 });
    execFileSync("tar", ["-C", fresh, "-xpf", contractRoot(), "--numeric-owner"]);
    try {
      renameSync(fresh, folder);
    } catch (error) {
      // Another world was first.
      if (!existsSync(folder)) throw error;
    }
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
  return folder;
}
