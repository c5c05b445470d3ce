/** Which processes hold the sandboxes that stay, whatever version of agentkernel started them. */
import { readdirSync, readFileSync, readlinkSync, realpathSync } from "node:fs";
import { join } from "node:path";

/** `folder` has one folder a sandbox. A process counts if it has the lock of one open, which only its supervisor has. */
export function runningSupervisors(folder: string): ReadonlySet<number> {
  const found = names(folder).flatMap((name) => holderOf(join(folder, name, "jail", "lock")) ?? []);
  return new Set(found);
}

function holderOf(lock: string): number | null {
  try {
    const pid = Number(readFileSync(lock, "latin1").trim());
    if (!Number.isSafeInteger(pid) || pid < 1) return null;
    const path = realpathSync(lock);
    const open = readdirSync(`/proc/${pid}/fd`);
    return open.some((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`) === path) ? pid : null;
  } catch (error) {
    // Not there, gone meanwhile, or another user's process that has the number now.
    if (error instanceof Error && "code" in error) return null;
    throw error;
  }
}

function names(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return [];
    throw error;
  }
}
