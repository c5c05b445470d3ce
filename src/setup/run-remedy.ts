/** Runs the commands of one remedy, one after the other, by a shell. What they print goes to stderr. */
import { spawn } from "node:child_process";
import type { Remedy } from "./remedies.js";

/** The line that failed and how; null where all went well. */
export async function runRemedy({ commands }: Remedy): Promise<string | null> {
  for (const line of commands) {
    const failure = await runLine(line);
    if (failure !== null) return `${line}: ${failure}`;
  }
  return null;
}

/** Another apt or dpkg (unattended upgrades, on a machine that has just started) is waited for, not run into. */
export function waitingForDpkg(line: string): string {
  return line.replace(/\bapt-get (?=install|update)/, "apt-get -o DPkg::Lock::Timeout=120 ");
}

/** How it failed; null where it did not. */
export function runLine(line: string): Promise<string | null> {
  return new Promise((resolve) => {
    const child = spawn("/bin/sh", ["-c", waitingForDpkg(line)], { stdio: ["ignore", 2, 2] });
    child.once("error", (error) => resolve(error.message));
    child.once("close", (status, signal) =>
      resolve(status === 0 ? null : `ended with ${signal ?? `status ${status}`}`),
    );
  });
}
