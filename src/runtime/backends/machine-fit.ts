/** Whether a virtual machine can be what is asked for. Where it cannot, another backend can. Pure. */
import { LEAST_MEMORY_MIB } from "../../backends/microvm/least-memory.js";
import type { Policy } from "../../core/policy.js";

export interface MachineRequest {
  readonly policy: Policy;
  /** The user's home folder; null where the sandbox does not show it. */
  readonly homeDir: string | null;
}

export const HOST_PROGRAMS = "it runs images, not this machine's own programs (image host)";

/** Null where it can. */
export function whyNoMachine({ policy: { fs, resources }, homeDir }: MachineRequest): string | null {
  if (fs.workspace.mode === "mount") return "it cannot show the project live (workspace mount)";
  if (fs.home === "readonly" && homeDir !== null) return "it cannot show the home folder";
  const writable = fs.mounts.find(({ readonly }) => !readonly);
  if (writable !== undefined) return `it cannot show ${writable.host} live, as a writable mount`;
  if (resources.memoryMiB < LEAST_MEMORY_MIB) {
    return `it has at least ${LEAST_MEMORY_MIB} MiB of memory, and the limit is ${resources.memoryMiB} MiB`;
  }
  return null;
}
