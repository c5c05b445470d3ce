/** All that a copy of a sandbox begins with: the backend's part and, where memory is in that, commands that go on in it. */
import type { KeptCopy, MemoryWish } from "../../core/backend.js";
import { copyCommands } from "./execs/copied-commands.js";
import type { CopyFolders } from "./folder.js";
import { copiesOf, type SandboxHome } from "./home.js";

export interface StateCopy {
  readonly signal?: AbortSignal | undefined;
  readonly memory: MemoryWish;
}

/** Of what does not run, or stands still. */
export async function copyState(
  home: Pick<SandboxHome, "kept" | "clock">,
  from: CopyFolders,
  into: CopyFolders,
  { signal, memory }: StateCopy,
): Promise<KeptCopy> {
  const copied = await copiesOf(home).make(from.jail, into.jail, signal, memory);
  if (copied.memory === true) {
    for (const part of ["execs", "terminals"] as const) await copyCommands(from[part], into[part], home.clock.now());
  }
  return copied;
}
