/**
 * A sandbox that is held still while its files are copied. That it is held is written down before, so that it goes on
 * whatever happens: where this process is killed, the next one that takes the sandbox over lets it go on.
 */
import { access, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { KeptSandbox } from "../../core/backend.js";
import { AgentKernelError, isAgentKernelError } from "../../core/errors.js";
import { isCode, type SandboxFolder, syncFolder } from "./folder.js";
import type { RunningSandbox } from "./running.js";

const NOTE = "held-still";

/** One that is paused stays so. */
export async function whileStill<T>(
  running: RunningSandbox | null,
  { folder, name }: { readonly folder: SandboxFolder; readonly name: string },
  work: () => Promise<T>,
): Promise<T> {
  if (running === null || running.isPaused) return await work();
  await writeFile(noteIn(folder), "", { mode: 0o600 });
  await syncFolder(folder.path);
  try {
    await running.hold().catch((error: unknown) => {
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
export async function letGoOn(kept: KeptSandbox | null, folder: SandboxFolder): Promise<boolean> {
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
