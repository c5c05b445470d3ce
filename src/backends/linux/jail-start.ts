/** Starting the process that a jail is, with its two streams. */
import { type ChildProcess, spawn } from "node:child_process";
import type { Socket } from "node:net";
import { AgentKernelError } from "../../core/errors.js";
import { adoptStream } from "../../guest/index.js";
import { NO_MARK } from "./state-mark.js";

export interface Exit {
  readonly code: number | null;
  /** Null where it ended by itself. */
  readonly signal: string | null;
}

/** A jail's process that waits for its spec. */
export interface StartedJail {
  readonly pid: number;
  /** Orders and events, a JSON object a line. */
  readonly control: Socket;
  /** Becomes the guest's stream. */
  readonly stream: Socket;
  readonly exited: Promise<Exit>;
  /** Now, and without a word. */
  kill(): void;
}

export interface JailStarter {
  start(): Promise<StartedJail>;
}

/** Only for finding newuidmap and newgidmap. */
export const JAIL_ENVIRONMENT = { PATH: "/usr/sbin:/usr/bin:/sbin:/bin" };
const CONTROL_FD = 3;
const STREAM_FD = 4;

/** A child of this process. */
export async function spawnJail(jailBinary: string): Promise<StartedJail> {
  const child = spawn(jailBinary, ["run", NO_MARK], {
    // An own session: a signal to our process group must not end the one who cleans up.
    detached: true,
    env: JAIL_ENVIRONMENT,
    stdio: ["ignore", "ignore", process.env.AGENTKERNEL_DEBUG === "1" ? "inherit" : "ignore", "pipe", "pipe"],
  });
  if (child.pid === undefined) throw await spawnFailure(child);
  return {
    pid: child.pid,
    control: child.stdio[CONTROL_FD] as Socket,
    stream: adoptStream(child.stdio[STREAM_FD] as Socket),
    exited: exitOf(child),
    kill: () => void child.kill("SIGKILL"),
  };
}

export function exitOf(child: ChildProcess): Promise<Exit> {
  return new Promise((resolve) => {
    child.once("exit", (code, signal) => resolve({ code, signal }));
    child.once("error", () => resolve({ code: null, signal: null }));
  });
}

/** Why the jail could not even be started. Without a process there are no streams to it either. */
export function spawnFailure(child: ChildProcess): Promise<AgentKernelError> {
  return new Promise((resolve) => {
    child.once("error", (cause: NodeJS.ErrnoException) => {
      resolve(startFailure(cause.message, isShortage(cause.code), cause));
    });
  });
}

/** Whether an error is about a resource that this process or the machine has run out of for now. */
export function isShortage(code: string | undefined): boolean {
  return ["EMFILE", "ENFILE", "EAGAIN", "ENOMEM", "ENOBUFS"].includes(code ?? "");
}

export function startFailure(reason: string, isExhausted: boolean, cause?: unknown): AgentKernelError {
  const hint = isExhausted
    ? "this process may open or start no more: look at ulimit -n and ulimit -u"
    : "the installation may be incomplete: install it again";
  const code = isExhausted ? "resource_exhausted" : "backend_unavailable";
  return new AgentKernelError(code, `the jail could not be started: ${reason}`, { hint, cause });
}
