/** Jail commands about a state folder that answer with one line of JSON. */
import { spawn } from "node:child_process";
import { constants, setPriority } from "node:os";
import type { SandboxCopy } from "../../../core/backend.js";
import { AgentKernelError } from "../../../core/errors.js";
import { type Fields, failure, isFields, number, unexpected } from "../jail-events.js";
import type { JailPrograms } from "../jail-process.js";
import { exitOf, JAIL_ENVIRONMENT, spawnFailure } from "../jail-start.js";

/** Clears up after a supervisor that was killed. True: one lives, and nothing was touched. */
export async function sweepPersistent(programs: JailPrograms, stateDir: string): Promise<boolean> {
  return (await ask(programs, "sweep-kept", [stateDir])).alive === true;
}

/** Beside what somebody waits for: there may be a great deal to delete. */
export async function removePersistent(programs: JailPrograms, stateDir: string): Promise<void> {
  await ask(programs, "remove-kept", [stateDir], { isUrgent: false });
}

export async function copyPersistent(
  programs: JailPrograms,
  stateDir: string,
  into: string,
  signal?: AbortSignal,
): Promise<SandboxCopy> {
  const copied = await ask(programs, "copy-kept", [stateDir, into], { aborted: signal });
  return { entries: number(copied, "entries"), bytes: number(copied, "bytes") };
}

async function ask(
  programs: JailPrograms,
  verb: string,
  folders: readonly string[],
  { aborted, isUrgent = true }: { readonly aborted?: AbortSignal | undefined; readonly isUrgent?: boolean } = {},
): Promise<Fields> {
  aborted?.throwIfAborted();
  const child = spawn(programs.jailBinary, [verb, ...folders], {
    detached: true,
    env: JAIL_ENVIRONMENT,
    stdio: ["ignore", "pipe", "ignore"],
  });
  if (child.pid === undefined) throw await spawnFailure(child);
  if (!isUrgent) lowerPriority(child.pid);
  const kill = () => void child.kill("SIGKILL");
  aborted?.addEventListener("abort", kill, { once: true });
  let text = "";
  child.stdout?.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
  });
  const closed = new Promise((resolve) => child.once("close", resolve));
  const { code, signal } = await exitOf(child);
  await closed;
  aborted?.removeEventListener("abort", kill);
  aborted?.throwIfAborted();
  if (signal !== null) throw new AgentKernelError("internal", `ak-jail ${verb} was killed by ${signal}`);
  const answer: unknown = text === "" ? null : JSON.parse(text);
  if (!isFields(answer)) throw unexpected(`${verb}: ${text}`);
  if (code !== 0) throw failure(answer);
  return answer;
}

function lowerPriority(pid: number): void {
  try {
    setPriority(pid, constants.priority.PRIORITY_LOW);
  } catch {
    // It is done already.
  }
}
