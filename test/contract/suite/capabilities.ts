/** What the contract asks of a backend, by name, and what no backend may do without. */
import type { Lack } from "../../../src/core/backend.js";

/** Without these it is no sandbox that an agent could use: no reason excuses a backend from them. */
export const floor = [
  "exit-status",
  "streams",
  "stdin",
  "working-directory",
  "environment",
  "timeout",
  "filesystem-isolation",
  "network-isolation",
  "cleanup",
] as const;

const waivable = [
  "concurrent-commands",
  "signals",
  "terminal",
  /** What is typed can interrupt a command and end its input. */
  "terminal-keys",
  /** It can also be opened as /dev/tty. */
  "controlling-terminal-by-name",
  "files",
  "users",
  "no-root",
  "readonly-root",
  "home",
  "mounts",
  "workspace-copy",
  "workspace-sync",
  "workspace-mount",
  "workspace-none",
  /** The project is at the path that it has on the host, beside /workspace. */
  "project-path",
  /** Pipes that a command makes lie where everybody finds them. */
  "pipes-on-disk",
  "hidden-files",
  "protected-files",
  "limit-memory-of-a-process",
  "limit-memory",
  "limit-processes",
  "limit-open-files",
  "limit-disk",
  "limit-cpu",
  "network",
  "network-proxy",
  "kept",
  "pause",
  /** What a kept sandbox has written can be copied, and another be started from the copy. */
  "snapshot",
] as const;

export type Capability = (typeof floor)[number] | (typeof waivable)[number];

const known: readonly string[] = [...floor, ...waivable];

/** What is lacking and why. Throws for what may not be lacking, for names nobody asks for, and for no reason. */
export function admittedLacks(backend: string, lacks: readonly Lack[]): ReadonlyMap<Capability, string> {
  const admitted = new Map<Capability, string>();
  for (const { capability, reason } of lacks) {
    if ((floor as readonly string[]).includes(capability)) {
      throw new Error(`the backend ${backend} lacks ${capability}, which no backend may lack`);
    }
    if (!isCapability(capability)) throw new Error(`the backend ${backend} lacks ${capability}, which nobody asks for`);
    if (reason.trim() === "") throw new Error(`the backend ${backend} lacks ${capability} and does not say why`);
    admitted.set(capability, reason);
  }
  return admitted;
}

function isCapability(name: string): name is Capability {
  return known.includes(name);
}
