/** Processes of a sandbox, found from the host by a word in their arguments that nobody else has. */
import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";

/** A word to give to a command, by which it and its children are found. */
export function marked(): string {
  return `mark-${randomBytes(8).toString("hex")}`;
}

interface MarkedProcess {
  readonly pid: number;
  readonly command: string;
}

/** Living processes with the mark, other than command lines of ours that pass it on. */
export function findMarked(mark: string): readonly MarkedProcess[] {
  const found: MarkedProcess[] = [];
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    const command = readOf(pid, "cmdline").replaceAll("\0", " ");
    if (!command.includes(mark) || command.includes("agentkernel.js")) continue;
    const stat = readOf(pid, "stat");
    if (stat === "" || / [ZX] /.test(stat.slice(stat.lastIndexOf(")")))) continue;
    found.push({ pid: Number(pid), command: command.slice(0, 200) });
  }
  return found;
}

/** What is left of them at the deadline: nothing, if all ended. */
export async function untilNoneMarked(mark: string, deadlineMs = 2000): Promise<readonly MarkedProcess[]> {
  const until = Date.now() + deadlineMs;
  for (;;) {
    const left = findMarked(mark);
    if (left.length === 0 || Date.now() >= until) return left;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

function readOf(pid: string, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "latin1");
  } catch {
    // It has ended meanwhile.
    return "";
  }
}

/** The first process of the sandbox that a marked process lives in: the ancestor that is number 1 in there. */
export function guestOf(mark: string): number {
  for (let pid = findMarked(mark)[0]?.pid; pid !== undefined && pid > 1; ) {
    const status = readOf(String(pid), "status");
    if (/^NSpid:.*\t1$/m.test(status)) return pid;
    pid = Number(/^PPid:\t(\d+)$/m.exec(status)?.[1] ?? 0);
  }
  throw new Error(`no sandbox has a process with ${mark}`);
}
