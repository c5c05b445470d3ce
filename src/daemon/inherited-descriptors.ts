/**
 * Descriptors that whoever started this process happened to have open. A daemon must not keep them: somebody may wait
 * for the other end of a pipe, or hold a lock by such a file.
 */
import { closeSync, readdirSync, readFileSync } from "node:fs";

const CLOSE_ON_EXEC = 0o2000000;

/** Everything above the standard streams that came with the start: what Node opens itself is marked to be closed. */
export function closeInheritedDescriptors(): void {
  for (const name of readdirSync("/proc/self/fdinfo")) {
    const descriptor = Number(name);
    if (descriptor > 2 && !isOwn(descriptor)) closeSync(descriptor);
  }
}

function isOwn(descriptor: number): boolean {
  let info: string;
  try {
    info = readFileSync(`/proc/self/fdinfo/${descriptor}`, "latin1");
  } catch {
    // It was the one that the list was read from.
    return true;
  }
  const flags = Number.parseInt(/^flags:\s*([0-7]+)$/m.exec(info)?.[1] ?? "", 8);
  return Number.isNaN(flags) || (flags & CLOSE_ON_EXEC) !== 0;
}
