/** How large the machine is that sandboxes run on: what a limit of this process's own cgroup leaves of it. */
import { totalmem } from "node:os";
import type { MachineSize } from "../settings/numeric-setting.js";

const MIB = 2 ** 20;

/** Neither changes while a process lives, but for a limit that somebody moves. */
export const machineSize: MachineSize = {
  // Without a limit the latter is 0 or larger than any machine.
  memoryMiB: Math.floor(Math.min(totalmem(), process.constrainedMemory() || totalmem()) / MIB),
};
