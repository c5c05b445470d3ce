/**
 * Processes of agentkernel in this process namespace: they are given the time to put away what they made outside of it,
 * such as cgroups. Whatever else runs here has made nothing outside, and ends with the namespace.
 */
import { readdirSync, readFileSync } from "node:fs";

const DEADLINE_MS = 30_000;
const LOOK_MS = 100;

const OWN = /\.local\/(lib|bin)\/agentkernel\b/;

export async function agentkernelEnded(): Promise<void> {
  for (const deadline = Date.now() + DEADLINE_MS; ; ) {
    const others = readdirSync("/proc").flatMap((name) => (isOther(name) ? [commandOf(name)] : []));
    const running = others.filter((command) => command !== null && OWN.test(command));
    if (running.length === 0) return;
    if (Date.now() > deadline) throw new Error(`these do not end: ${running.join("; ")}`);
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}

function isOther(name: string): boolean {
  return /^\d+$/.test(name) && Number(name) !== process.pid;
}

/** Null: it has ended. One that nobody waits for has no command line any more. */
function commandOf(pid: string): string | null {
  try {
    const words = readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").trim();
    return words === "" ? null : words;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ESRCH") return null;
    throw error;
  }
}
