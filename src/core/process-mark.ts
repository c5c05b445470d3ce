/**
 * Marks what a process holds or works on, so that another can tell whether it still lives. A number alone is not enough:
 * numbers come again. Synchronous: a look takes microseconds, and nothing may come between the look and the taking.
 */
import { readFileSync, readlinkSync } from "node:fs";

export interface ProcessMark {
  /** The process's own, and a random part for several holders in one process. */
  readonly text: string;
  readonly boot: string;
  readonly namespace: string;
}

export type HolderState = "running" | "stopped" | "dead" | "unknown";

let known: (Omit<ProcessMark, "text"> & { readonly start: string }) | undefined;

/** Boot, namespace of process numbers, number and start. */
export function ownMark(): string {
  const { boot, namespace, start } = ownProcess();
  return [boot, namespace, process.pid, start].join("-");
}

export function processMark(): ProcessMark {
  const { boot, namespace } = ownProcess();
  const random = Math.floor(Math.random() * 2 ** 24).toString(16);
  return { text: `${ownMark()}-${random}`, boot, namespace };
}

/** Reads the mark of another process in the same PID namespace; null where it is gone. */
export function markOf(pid: number): string | null {
  const { boot, namespace } = ownProcess();
  const found = statOf(pid);
  return found === null ? null : [boot, namespace, pid, found.startTicks].join("-");
}

/** The number of the process that a mark names. */
export function processOf(mark: string): number {
  return Number(/^[0-9a-f]+-\d+-(\d+)-/.exec(mark)?.[1] ?? 0);
}

/** Nothing of it changes while the process lives. */
function ownProcess(): NonNullable<typeof known> {
  if (known !== undefined) return known;
  const boot = readFileSync("/proc/sys/kernel/random/boot_id", "latin1").replaceAll("-", "").slice(0, 12);
  const namespace = readlinkSync("/proc/self/ns/pid").replace(/\D/g, "");
  const own = statOf(process.pid);
  if (own === null) throw new Error("/proc does not show this process");
  known = { boot, namespace, start: own.startTicks };
  return known;
}

/** `unknown`: it lives where its processes cannot be seen from here. */
export function holderState(mark: string, self: Pick<ProcessMark, "boot" | "namespace"> = ownProcess()): HolderState {
  const match = /^([0-9a-f]+)-(\d+)-(\d+)-(\d+)(?:-[0-9a-f]+)?$/.exec(mark);
  if (match === null) return "dead";
  const [, boot, namespace, pid, startTicks] = match;
  if (boot !== self.boot) return "dead";
  if (namespace !== self.namespace) return "unknown";
  const stat = statOf(Number(pid));
  if (stat === null || stat.startTicks !== startTicks) return "dead";
  return stat.state === "T" || stat.state === "t" ? "stopped" : "running";
}

interface ProcessStat {
  readonly state: string;
  readonly startTicks: string;
}

/** Null for a process that is gone or a zombie. */
function statOf(pid: number): ProcessStat | null {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/stat`, "latin1");
  } catch (error) {
    if (error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ESRCH")) return null;
    throw error;
  }
  // The program's name may hold anything, also parentheses; fields are counted from behind it.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const [state = "", startTicks = ""] = [fields[0], fields[19]];
  return state === "Z" || state === "X" ? null : { state, startTicks };
}
