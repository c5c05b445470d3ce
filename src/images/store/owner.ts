/**
 * Marks files with the process that works on them, so that another can tell whether it still does. A number alone is
 * not enough: numbers come again. The mark has the boot, the namespace of process numbers, the number and its start.
 */
import { readFile, readlink } from "node:fs/promises";

export type OwnerState = "alive" | "dead" | "unknown";

interface Surroundings {
  readonly boot: string;
  readonly namespace: string;
}

export async function ownMark(): Promise<string> {
  const { boot, namespace } = await surroundings();
  const startTicks = await startOf(process.pid);
  if (startTicks === null) throw new Error("/proc does not show this process");
  return [boot, namespace, process.pid, startTicks].join("-");
}

/** The number of the process that a mark names. */
export function processOf(mark: string): number {
  return Number(/^[0-9a-f]+-\d+-(\d+)-/.exec(mark)?.[1] ?? 0);
}

/** `unknown` is an owner in a namespace whose processes cannot be seen from here. */
export async function ownerState(mark: string): Promise<OwnerState> {
  const match = /^([0-9a-f]+)-(\d+)-(\d+)-(\d+)$/.exec(mark);
  if (match === null) return "dead";
  const [, boot, namespace, pid, startTicks] = match;
  const here = await surroundings();
  if (boot !== here.boot) return "dead";
  if (namespace !== here.namespace) return "unknown";
  return (await startOf(Number(pid))) === startTicks ? "alive" : "dead";
}

async function surroundings(): Promise<Surroundings> {
  const [boot, namespace] = await Promise.all([
    readFile("/proc/sys/kernel/random/boot_id", "utf8"),
    readlink("/proc/self/ns/pid"),
  ]);
  return { boot: boot.replaceAll("-", "").slice(0, 12), namespace: namespace.replace(/\D/g, "") };
}

/** The start time of a process that runs; null for one that is gone or a zombie. */
async function startOf(pid: number): Promise<string | null> {
  let stat: string;
  try {
    stat = await readFile(`/proc/${pid}/stat`, "latin1");
  } catch (error) {
    if (error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ESRCH")) return null;
    throw error;
  }
  // The program's name may hold anything, also parentheses; fields are counted from behind it.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [state] = fields;
  return state === "Z" || state === "X" ? null : (fields[19] ?? null);
}
