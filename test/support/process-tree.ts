/** The processes of one run as the host sees them: command line, jail, guest. Looked up without letting time pass. */
import { readdirSync, readFileSync } from "node:fs";

const DEADLINE_MS = 30_000;

function childrenOf(pid: number): readonly number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((task) =>
      readFileSync(`/proc/${pid}/task/${task}/children`, "utf8").split(" ").filter(Boolean).map(Number),
    );
  } catch {
    return [];
  }
}

function nameOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/comm`, "utf8").trim();
  } catch {
    return "";
  }
}

/** Spins: an event loop between two looks would cost more than the steps that are to be told apart. */
function seek(find: () => number | undefined, what: string): number {
  for (const until = performance.now() + DEADLINE_MS; performance.now() < until; ) {
    const found = find();
    if (found !== undefined) return found;
  }
  throw new Error(`${what} did not appear`);
}

/** In its first moments a launcher has the name of a jail. */
function isLauncher(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "latin1").split("\0")[1] === "launch";
  } catch {
    return false;
  }
}

export function awaitJail(cliPid: number): number {
  const started = (pid: number) => (nameOf(pid) === "ak-launcher" ? childrenOf(pid) : [pid]);
  return seek(
    () =>
      childrenOf(cliPid)
        .flatMap(started)
        .find((pid) => nameOf(pid) === "ak-jail" && !isLauncher(pid)),
    "the jail",
  );
}

export function awaitChild(parentPid: number, name: string): number {
  return seek(() => childrenOf(parentPid).find((pid) => nameOf(pid) === name), name);
}

/** Process 1 of the sandbox, from the moment it is made; it is called ak-jail until it has become the guest. */
export function awaitGuest(jailPid: number): number {
  return seek(() => childrenOf(jailPid).find((pid) => nameOf(pid).startsWith("ak-")), "the guest");
}

export function spinMs(ms: number): void {
  for (const until = performance.now() + ms; performance.now() < until; );
}

/** False if it was gone already. */
export function killNow(pid: number, signal: NodeJS.Signals = "SIGKILL"): boolean {
  try {
    process.kill(pid, signal);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return false;
    throw error;
  }
}

/** Also one that nobody has waited for yet. */
export function isGone(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    return /^[ZX]/.test(stat.slice(stat.lastIndexOf(")") + 2));
  } catch {
    return true;
  }
}
