/**
 * Whose a process is. Other sandboxes may run on this machine: a developer's own, or those of another test run. What
 * they have is none of our business, and what ours leave is.
 */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { testFolder } from "./test-folder.js";

/** Whether the process belongs to somebody else: it runs, and neither it nor what started it is of this test run. */
export function isForeign(pid: number): boolean {
  let found = false;
  for (let at = pid; at > 1; at = parentOf(at)) {
    if (at === process.pid || runsOurBuild(at)) return false;
    found ||= isSandboxProgram(at);
  }
  return found;
}

/**
 * Whether the process is of a sandbox that its daemon keeps ready for the next run. One whose daemon is gone is left
 * over like any other.
 */
export function isWarm(pid: number): boolean {
  for (let at = pid; at > 1; at = parentOf(at)) {
    if (nameOf(at) === "ak-warm" && nameOf(parentOf(at)) === "ak-launcher") return true;
  }
  return false;
}

/** Whether this test run started the process, or what started it. */
export function isOurs(pid: number): boolean {
  for (let at = pid; at > 1; at = parentOf(at)) if (at === process.pid || runsOurBuild(at)) return true;
  return false;
}

/** Processes that hold a socket open, by the number of its inode. */
export function holdersOf(inodes: ReadonlySet<string>): Map<string, number[]> {
  const holders = new Map<string, number[]>();
  if (inodes.size === 0) return holders;
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    for (const descriptor of entriesOf(`/proc/${pid}/fd`)) {
      const inode = /^socket:\[(\d+)\]$/.exec(linkAt(`/proc/${pid}/fd/${descriptor}`))?.[1];
      if (inode !== undefined && inodes.has(inode)) holders.set(inode, [...(holders.get(inode) ?? []), Number(pid)]);
    }
  }
  return holders;
}

/** Every test run has a copy of the build of its own. */
function runsOurBuild(pid: number): boolean {
  const folder = testFolder();
  return linkAt(`/proc/${pid}/exe`).includes(folder) || textAt(`/proc/${pid}/cmdline`).includes(folder);
}

function isSandboxProgram(pid: number): boolean {
  return (
    // A build that was replaced meanwhile is still a build.
    /\/ak-(jail|guest|unpack)( \(deleted\))?$/.test(linkAt(`/proc/${pid}/exe`)) ||
    /agentkernel/.test(textAt(`/proc/${pid}/cmdline`))
  );
}

function nameOf(pid: number): string {
  return textAt(`/proc/${pid}/comm`).trim();
}

function parentOf(pid: number): number {
  const stat = textAt(`/proc/${pid}/stat`);
  return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1] ?? 0);
}

// A process may be gone at any moment, or not ours to look at.
function linkAt(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return "";
  }
}

function textAt(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

function entriesOf(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
