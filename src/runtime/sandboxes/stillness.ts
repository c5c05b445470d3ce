/**
 * A sandbox that is held still while its files are copied. That it is held is written down before, so that it goes on
 * whatever happens: where this process is killed, the next one that takes the sandbox over lets it go on. One whose memory
 * is saved needs no such note: its backend holds it only for as long as this process lives.
 */
import { access, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { HeldStill, PersistentSandbox } from "../../core/backend.js";
import { AgentKernelError, isAgentKernelError } from "../../core/errors.js";
import { isCode, type SandboxFolder, syncFolder } from "./folder.js";
import type { RunningSandbox } from "./running.js";

const NOTE = "held-still";

interface StillSandbox {
  readonly folder: SandboxFolder;
  readonly name: string;
  /** Its memory is to be saved, where the backend can do that. */
  readonly withMemory: boolean;
  readonly signal?: AbortSignal | undefined;
}

/** One that is paused stays so, and its memory is not to be had. */
export async function whileStill<T>(
  running: RunningSandbox | null,
  sandbox: StillSandbox,
  work: (held: HeldStill | null) => Promise<T>,
): Promise<T> {
  if (running === null || running.isPaused) return await work(null);
  running.session.excuseSilence();
  try {
    const { hold } = running.kept;
    if (!sandbox.withMemory || hold === undefined) return await whilePaused(running, sandbox, () => work(null));
    const held = await hold(sandbox.signal);
    try {
      return await work(held);
    } finally {
      await held.letGo();
    }
  } finally {
    running.session.expectSigns();
  }
}

async function whilePaused<T>(
  running: RunningSandbox,
  { folder, name }: StillSandbox,
  work: () => Promise<T>,
): Promise<T> {
  await writeFile(noteIn(folder), "", { mode: 0o600 });
  await syncFolder(folder.path);
  try {
    await running.holdStill().catch((error: unknown) => {
      throw isAgentKernelError(error) && error.code === "unsupported" ? mustStop(name, error) : error;
    });
    return await work();
  } finally {
    // One that was killed meanwhile has nothing to go on with.
    await running.letGoOn().catch((error: unknown) => {
      if (!running.isOver && !isGone(error)) throw error;
    });
    await rm(noteIn(folder), { force: true });
  }
}

/** What a process that was killed had held still goes on. Resolves to whether there was such a one. */
export async function letGoOn(kept: PersistentSandbox | null, folder: SandboxFolder): Promise<boolean> {
  try {
    await access(noteIn(folder));
  } catch (error) {
    if (isCode(error, "ENOENT")) return false;
    throw error;
  }
  await kept?.resume();
  await rm(noteIn(folder), { force: true });
  return kept !== null;
}

function noteIn({ path }: SandboxFolder): string {
  return join(path, NOTE);
}

function isGone(error: unknown): boolean {
  return isAgentKernelError(error) && error.code === "sandbox_died";
}

function mustStop(name: string, cause: AgentKernelError): AgentKernelError {
  const message = `the sandbox ${name} runs, and cannot be held still here while its files are copied: ${cause.message}`;
  return new AgentKernelError("unsupported", message, { hint: `stop it first: agentkernel stop ${name}`, cause });
}
