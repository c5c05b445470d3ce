/** Waits for a command that somebody at a command line waits for: signals, job control, and that nobody is there any more. */
import { constants } from "node:os";
import { AgentKernelError } from "../../core/errors.js";
import type { GuestExec } from "../../guest/index.js";
import type { Invocation } from "../../invocation/index.js";
import type { CommandEnd, CommandWait } from "../../runtime/command-end.js";
import type { EndingSignals } from "./signals.js";
import type { RunStreams } from "./streams.js";

const { SIGCONT, SIGSTOP } = constants.signals;

interface Foreground {
  readonly exec: GuestExec;
  readonly wait: CommandWait;
  readonly invocation: Invocation;
  readonly signals: EndingSignals;
  readonly streams: RunStreams;
  /** How long the command may take to end after a signal of the user's. */
  readonly graceMs: number;
}

/** Rejects where the command could not be run, or nobody waits for it any more. */
export async function waitInForeground(foreground: Foreground): Promise<CommandEnd> {
  const { exec, wait, invocation, signals, streams, graceMs } = foreground;
  const vanished = callerVanished(invocation);
  signals.passTo((signal) => wait.interrupt(signal, graceMs));
  if (signals.first !== null) wait.interrupt(signals.first, graceMs);
  // Whoever stops us means the command too, as with a local process in the foreground.
  const stopPausing = invocation.signals.onPause((isPaused) => exec.signal(isPaused ? SIGSTOP : SIGCONT, "tree"));
  // As `kill` would: what the command has started may not know these signals, and die.
  signals.passCommandSignalsTo((signal) => exec.signal(signal, "process"));
  try {
    // A guest that never answers must not hold up the time limit.
    await Promise.race([exec.opened, wait.end, vanished]);
    const command = await Promise.race([wait.end, vanished]);
    const isOurDoing = command.timedOut || signals.first !== null;
    // The reader may be slow; unless the time is up or the user has had enough, it gets everything.
    if (!isOurDoing) await Promise.race([streams.flushed, interrupted(signals), vanished]);
    return command;
  } finally {
    stopPausing();
  }
}

/** Rejects when nobody waits for the command any more. */
function callerVanished({ gone }: Invocation): Promise<never> {
  if (gone === null) return new Promise<never>(() => {});
  return new Promise((_, reject) => {
    gone.onGone(() => reject(new AgentKernelError("conflict", "whoever asked for this run is gone")));
  });
}

function interrupted(signals: EndingSignals): Promise<void> {
  return new Promise((resolve) => signals.passTo(() => resolve()));
}
