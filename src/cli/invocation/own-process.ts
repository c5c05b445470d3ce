/** The invocation of a command line that serves only its own process. Everything is looked up when it is asked for. */
import { homeDirIn } from "../../core/account.js";
import { AgentKernelError } from "../../core/errors.js";
import {
  type CommandSignal,
  commandSignals,
  type EndingSignal,
  endingSignals,
  type Invocation,
  type SignalSource,
} from "../../invocation/index.js";
import { OwnInput } from "./own-input.js";
import { OwnOutput } from "./own-output.js";

export function ownInvocation(): Invocation {
  keepDebuggerClosed();
  return {
    get cwd() {
      return currentFolder();
    },
    get homeDir() {
      return homeDirIn(process.env);
    },
    env: process.env,
    stdin: new OwnInput(),
    stdout: new OwnOutput(1),
    stderr: new OwnOutput(2),
    signals: ownSignals,
    resident: null,
    gone: null,
    release: null,
    // The caller is this very process.
    ifLost: () => {},
    dieBy: (signal) => {
      // Whoever listened has had its chance, and would keep the signal from its effect.
      for (const name of endingSignals) process.removeAllListeners(name);
      process.kill(process.pid, signal);
    },
  };
}

const ownSignals: SignalSource = {
  onEnding: (listener) => listen(endingSignals, (name) => listener(name as EndingSignal)),
  onCommandSignal: (listener) => listen(commandSignals, (name) => listener(name as CommandSignal)),
  // The signal that stops this process stops it whole, and what it would have told goes unsaid.
  onPause: () => () => {},
};

/**
 * Node opens its debugger at SIGUSR1, where every user of the machine could connect to it. Ours has the usual effect,
 * unless somebody else listens.
 */
function keepDebuggerClosed(): void {
  const end = () => {
    if (process.listenerCount("SIGUSR1") > 1) return;
    process.off("SIGUSR1", end);
    process.kill(process.pid, "SIGUSR1");
  };
  process.on("SIGUSR1", end);
}

function listen(names: readonly NodeJS.Signals[], listener: (name: NodeJS.Signals) => void): () => void {
  for (const name of names) process.on(name, listener);
  return () => {
    for (const name of names) process.off(name, listener);
  };
}

function currentFolder(): string {
  try {
    return process.cwd();
  } catch (cause) {
    throw new AgentKernelError("invalid_argument", "the current folder does not exist any more", {
      hint: "change to a folder that exists: it is the project that the sandbox shows",
      cause,
    });
  }
}
