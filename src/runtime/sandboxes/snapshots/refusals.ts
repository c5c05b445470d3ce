/** Why something cannot be done with a snapshot. */
import { AgentKernelError } from "../../../core/errors.js";
import { isSandboxName } from "../name.js";

export function snapshotTaken(name: string): AgentKernelError {
  return new AgentKernelError("conflict", `there is a snapshot ${name} already`, {
    hint: `choose another name, or remove it: agentkernel snapshots remove ${name}`,
  });
}

export function noSnapshot(name: string): AgentKernelError {
  return new AgentKernelError("not_found", `there is no snapshot ${name}`, {
    hint: "agentkernel snapshots list shows those that there are",
  });
}

/** The same text, or a clear error. Snapshots are named by the rules of sandboxes. */
export function checkSnapshotName(text: unknown): string {
  if (typeof text === "string" && isSandboxName(text)) return text;
  const shown = typeof text === "string" ? JSON.stringify(text.slice(0, 80)) : `a ${typeof text}`;
  throw new AgentKernelError("invalid_argument", `name: ${shown} cannot name a snapshot`, {
    hint: "a name has 1 to 63 lower-case letters, digits, dashes, underscores and single dots, and starts with a letter or digit",
    details: { field: "name" },
  });
}
