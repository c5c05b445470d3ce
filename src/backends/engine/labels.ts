/**
 * The labels by which our containers are known. Nothing without them is ever touched, and what they say is how a
 * container that has lost its owner is found again: not by memory, and not by its name.
 */
import { holderState, ownMark } from "../../core/process-mark.js";

export const labels = {
  /** `run`, `warm` (built ahead, for a run that is not known yet) or `kept` (a persistent sandbox). */
  kind: "agentkernel.kind",
  sandbox: "agentkernel.sandbox",
  /** The process whose it is; of kept ones there is none. */
  owner: "agentkernel.owner",
  /** The user on the host whose it is. */
  user: "agentkernel.user",
  /** Of one for a run: the folder in the state directory that it works for. */
  folder: "agentkernel.folder",
  /** Of a kept one: its state folder. */
  state: "agentkernel.state",
  /** Of an image that a copy of a kept one is: which copy. Its state is the folder that says who needs it. */
  copy: "agentkernel.copy",
} as const;

export type Labels = Readonly<Record<string, string>>;

export function userLabel(): string {
  return String(process.getuid?.() ?? "any");
}

export function ownedLabels(kind: "run" | "warm", sandbox: string, folder: string): Labels {
  const owner = process.platform === "linux" ? { [labels.owner]: ownMark() } : {};
  const own = { [labels.kind]: kind, [labels.sandbox]: sandbox, [labels.user]: userLabel(), ...owner };
  return { ...own, [labels.folder]: folder };
}

export function persistentLabels(sandbox: string, stateDir: string): Labels {
  return { [labels.kind]: "kept", [labels.sandbox]: sandbox, [labels.user]: userLabel(), [labels.state]: stateDir };
}

/** Whether the process that a container belongs to is known to be gone. */
export function hasLostOwner(found: Labels): boolean {
  const mark = found[labels.owner];
  return mark !== undefined && process.platform === "linux" && holderState(mark) === "dead";
}
