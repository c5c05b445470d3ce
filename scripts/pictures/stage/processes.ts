/** Everybody else in this process namespace: they are given the time to put away what they made outside of it. */
import { readdirSync, readFileSync } from "node:fs";

const DEADLINE_MS = 30_000;
const LOOK_MS = 100;

export async function othersEnded(): Promise<void> {
  for (const deadline = Date.now() + DEADLINE_MS; ; ) {
    const others = readdirSync("/proc").flatMap((name) => (isOther(name) ? [commandOf(name)] : []));
    const running = others.filter((command) => command !== null);
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
