/** All that a copy of a sandbox begins with: the backend's part and, where memory is in that, commands that go on in it. */
import type { MemoryOptions, SandboxCopy } from "../../core/backend.js";
import { copiesOf, type SandboxContext } from "./context.js";
import { copyCommands } from "./execs/copied-commands.js";
import type { CopyFolders } from "./folder.js";
import type { SandboxView } from "./reports.js";
import { whileStill } from "./stillness.js";
import type { CopyOptions } from "./types.js";

interface StateCopy {
  readonly signal?: AbortSignal | undefined;
  readonly memory: MemoryOptions;
}

/** What a copy is made into, and how. */
export type CopyCall = readonly [into: CopyFolders, options: CopyOptions];

/** Of a sandbox, which is held still for it where it runs. */
export async function copyOfSandbox(
  { record: { name }, folder, running, context }: Pick<SandboxView, "record" | "folder" | "running" | "context">,
  ...[into, { memory: withMemory = true, signal }]: CopyCall
): Promise<SandboxCopy> {
  return await whileStill(running, { folder, name, withMemory, signal }, (held) =>
    copyState(context, folder, into, { signal, memory: { isWanted: withMemory, held } }),
  );
}

/** Of what does not run, or stands still. */
export async function copyState(
  context: Pick<SandboxContext, "kept" | "clock">,
  from: CopyFolders,
  into: CopyFolders,
  { signal, memory }: StateCopy,
): Promise<SandboxCopy> {
  const copied = await copiesOf(context).make(from.jail, into.jail, signal, memory);
  if (copied.memory === true) {
    for (const part of ["execs", "terminals"] as const) await copyCommands(from[part], into[part], context.clock.now());
  }
  return copied;
}
