/**
 * The kill switch: ends every sandbox of one state directory, or all of this user and this installation, whoever owns it
 * and whether or not that one still answers. What is killed is the first process of each sandbox, so that its supervisor clears up and tells; a
 * supervisor that does not is killed as well. A supervisor is known by the program that it runs, which is ours.
 */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";

interface EndedAll {
  /** Sandboxes that were there and are gone; those that were only built ahead are gone too, and not counted. */
  readonly ended: number;
  /** Numbers of those that are still there. */
  readonly left: readonly number[];
  /** Some did not clear up themselves. */
  readonly wasForced: boolean;
}

/** How long a supervisor may take to clear up. */
const CLEARING_MS = 3000;
const DYING_MS = 2000;
const LOOK_AGAIN_MS = 5;
/** What a supervisor calls itself until its sandbox is taken. */
const WARM_NAME = "ak-warm";

interface Process {
  readonly pid: number;
  readonly parent: number;
  /** When it was started: numbers come again. */
  readonly start: string;
  readonly isSupervisor: boolean;
  /** Of a sandbox that nobody has taken yet. */
  readonly isWarm: boolean;
}

/** What supervisors are known by: the program of this installation, or that they hold a sandbox that stays. */
interface Known {
  readonly jailBinary: string;
  /** Only those that work for the state directory of this mark; null: for any. */
  readonly mark: string | null;
  /** Of an earlier version, whose program lay elsewhere. */
  readonly holders: () => ReadonlySet<number>;
}

export async function endAll(known: Known): Promise<EndedAll> {
  const first = processes(known);
  const supervisors = supervisorsAmong(first);
  strike(first, supervisors);
  let left = await gone(known, supervisors, CLEARING_MS);
  // Those that were being made when the others were killed.
  const second = processes(known);
  const late = supervisorsAmong(second).filter((one) => !supervisors.some((other) => isSame(other, one)));
  strike(second, late);
  left = [...left, ...(await gone(known, late, CLEARING_MS))];
  const wasForced = left.length > 0;
  for (const { pid } of left) kill(pid);
  left = await gone(known, left, DYING_MS);
  const survives = (one: Process) => left.some((other) => isSame(one, other));
  const ended = [...supervisors, ...late].filter((one) => !one.isWarm && !survives(one)).length;
  return { ended, left: left.map(({ pid }) => pid), wasForced };
}

/** One that has no sandbox yet ends by itself being killed; nothing of it is left then. */
function strike(all: readonly Process[], supervisors: readonly Process[]): void {
  for (const { pid } of supervisors) {
    const children = all.filter(({ parent }) => parent === pid);
    for (const victim of children.length === 0 ? [{ pid }] : children) kill(victim.pid);
  }
}

async function gone(known: Known, which: readonly Process[], deadlineMs: number): Promise<readonly Process[]> {
  let left = which;
  for (const until = performance.now() + deadlineMs; left.length > 0 && performance.now() < until; ) {
    await delay(LOOK_AGAIN_MS);
    const now = processes(known);
    left = left.filter((one) => now.some((other) => isSame(one, other)));
  }
  return left;
}

function isSame(one: Process, other: Process): boolean {
  return one.pid === other.pid && one.start === other.start;
}

/** Its child is called the same until it has become the guest. */
function supervisorsAmong(all: readonly Process[]): readonly Process[] {
  const candidates = all.filter(({ isSupervisor }) => isSupervisor);
  const pids = new Set(candidates.map(({ pid }) => pid));
  return candidates.filter(({ parent }) => !pids.has(parent));
}

function processes({ jailBinary, mark, holders }: Known): readonly Process[] {
  const held = holders();
  const isOurs = (pid: number) => held.has(pid) || runsOurs(pid, jailBinary, mark);
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => look(Number(name), isOurs) ?? []);
}

/** Null for one that is gone, or not to be seen. */
function look(pid: number, isOurs: (pid: number) => boolean): Process | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    // The program's name may hold anything, also parentheses; fields are counted from behind it.
    const [state = "", parent = "", ...fields] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    if (state === "Z" || state === "X") return null;
    const isWarm = stat.slice(stat.indexOf("(") + 1, stat.lastIndexOf(")")) === WARM_NAME;
    return { pid, parent: Number(parent), start: fields[17] ?? "", isSupervisor: isOurs(pid), isWarm };
  } catch (error) {
    if (error instanceof Error && "code" in error) return null;
    throw error;
  }
}

/** After an update the program that still runs may have been replaced. */
function runsOurs(pid: number, jailBinary: string, mark: string | null): boolean {
  let program: string;
  try {
    program = readlinkSync(`/proc/${pid}/exe`);
  } catch (error) {
    // Another user's, or of the kernel.
    if (error instanceof Error && "code" in error) return false;
    throw error;
  }
  if (program !== jailBinary && program !== `${jailBinary} (deleted)`) return false;
  const [, order, ...words] = readFileSync(`/proc/${pid}/cmdline`, "latin1").split("\0");
  const isMeant = mark === null || words.includes(mark);
  return (order === "run" || order === "keep") && isMeant && isThisUsers(pid);
}

/** A superuser sees the programs of others too. */
function isThisUsers(pid: number): boolean {
  const uid = /^Uid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1];
  return Number(uid) === process.getuid?.();
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error;
  }
}
