/** What sandboxes could leave behind on this machine, as one value that can be compared before and after. */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { testFolder } from "./test-folder.js";
import { holdersOf, isForeign, isOurs, isWarm } from "./whose.js";

export interface Traces {
  /** Processes of ours, or in a namespace that is not this process's own. */
  readonly processes: readonly string[];
  readonly mounts: readonly string[];
  readonly cgroups: readonly string[];
  /** Abstract sockets that hold id ranges. */
  readonly sockets: readonly string[];
}

export function traces(): Traces {
  return {
    processes: processes(),
    mounts: mounts(),
    cgroups: ownCgroups()
      .flatMap((folder) => cgroups(folder, 0))
      .filter(isOurCgroup)
      .sort(),
    sockets: sockets(),
  };
}

/**
 * What is left of the time since `before`: everything new that stays for good. The kernel ends processes and
 * namespaces in its own time, and other sandboxes may come and go meanwhile.
 */
export async function leaksSince(before: Traces, deadlineMs = 20_000): Promise<readonly string[]> {
  const known = new Set(items(before));
  let left = items(traces()).filter((item) => !known.has(item));
  for (const until = Date.now() + deadlineMs; left.length > 0 && Date.now() < until; ) {
    await new Promise((resolve) => setTimeout(resolve, 10));
    const now = new Set(items(traces()));
    left = left.filter((item) => now.has(item));
  }
  return left;
}

function items(all: Traces): string[] {
  return Object.entries(all).flatMap(([kind, list]: [string, readonly string[]]) =>
    list.map((item) => `${kind}: ${item}`),
  );
}

function processes(): string[] {
  const own = namespaceOf("self");
  const found: string[] = [];
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    const command = read(`/proc/${pid}/comm`).trim();
    const stat = read(`/proc/${pid}/stat`);
    if (stat === "" || / Z /.test(stat.slice(stat.lastIndexOf(")")))) continue;
    const namespace = namespaceOf(pid);
    const isProgram = ["ak-jail", "ak-warm", "ak-guest", "ak-unpack"].includes(command) && !isForeign(Number(pid));
    const isInside = namespace !== null && namespace !== own && isOurs(Number(pid));
    if ((isProgram || isInside) && !isWarm(Number(pid))) found.push(`${pid} ${command}`);
  }
  return found.sort();
}

/** Places where others mount things of their own while we look. */
const FOREIGN_MOUNT = / \/tmp\/(?:mmdebstrap\.|agentkernel-)/;

/** An engine puts its own store in place whenever it is asked something, and takes it away again. */
const ENGINE_STORE = / \S+\/podman\/root\/overlay /;

function mounts(): string[] {
  const lines = read("/proc/self/mountinfo")
    .split("\n")
    .filter((line) => line !== "" && !ENGINE_STORE.test(line));
  return lines.filter((line) => line.includes(testFolder()) || !FOREIGN_MOUNT.test(line)).sort();
}

/** A group is named after the process that made it; of one that is gone it can only be ours to remove. */
function isOurCgroup(path: string): boolean {
  const pid = Number(/agentkernel-(\d+)/.exec(path)?.[1] ?? 0);
  return pid === 0 || !(isForeign(pid) || isWarm(pid));
}

/** Held by processes of others they are theirs. */
function sockets(): string[] {
  const found = new Map<string, string>();
  for (const [, inode = "", name = ""] of read("/proc/net/unix").matchAll(
    /^\S+: .* (\d+) (@agentkernel-(?!attack-)\S+)$/gm,
  )) {
    found.set(inode, name);
  }
  const holders = holdersOf(new Set(found.keys()));
  return [...found]
    .filter(([inode]) => !(holders.get(inode) ?? []).some((pid) => isForeign(pid) || isWarm(pid)))
    .map(([, name]) => name)
    .sort();
}

function namespaceOf(pid: string): string | null {
  // readlink would do, but a process that is gone or not ours must not throw.
  try {
    return readdirSync(`/proc/${pid}/ns`).includes("pid") ? readLink(`/proc/${pid}/ns/pid`) : null;
  } catch {
    return null;
  }
}

function readLink(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch {
    return null;
  }
}

/** Sandboxes get their groups below those of the process that starts them; with one hierarchy, perhaps beside it. */
function ownCgroups(): readonly string[] {
  const lines = [...read("/proc/self/cgroup").matchAll(/^\d+:([^:]*):(.*)$/gm)];
  if (lines.length === 1) return ["/sys/fs/cgroup"];
  return lines.map(([, controllers, path = ""]) => join("/sys/fs/cgroup", controllers || "unified", path));
}

function cgroups(folder: string, depth: number): string[] {
  let names: string[];
  try {
    names = readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => entry.name);
  } catch {
    return [];
  }
  const ours = names.filter((name) => name.startsWith("agentkernel-")).map((name) => join(folder, name));
  return depth > 8 ? ours : [...ours, ...names.flatMap((name) => cgroups(join(folder, name), depth + 1))];
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
