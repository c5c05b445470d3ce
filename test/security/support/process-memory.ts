/** How much memory a process of ours takes, as the kernel counts it. */
import { readFileSync } from "node:fs";

/** The most it has had so far; null when it is gone. */
export function peakMiB(pid: number): number | null {
  try {
    const kib = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
    return kib === undefined ? null : Number(kib) / 1024;
  } catch {
    return null;
  }
}

/** The most it had until then. The kernel's own figure only grows, so the last look is the one that counts. */
export async function peakUntil(pid: number, end: Promise<unknown>): Promise<number> {
  let last = 0;
  let isOver = false;
  void end.then(() => {
    isOver = true;
  });
  while (!isOver) {
    last = peakMiB(pid) ?? last;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return last;
}

/** Resolves when a process has written nothing more for a while: whoever reads from it holds it back. */
export async function untilHeldBack(pid: number, quietMs = 300): Promise<number> {
  let written = -1;
  for (let since = performance.now(); performance.now() - since < quietMs; ) {
    const now = Number(/^wchar: (\d+)$/m.exec(readFileSync(`/proc/${pid}/io`, "utf8"))?.[1]);
    if (now !== written) since = performance.now();
    written = now;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return written;
}
