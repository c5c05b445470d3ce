/** A whole `attach`: a user's terminal on one of a sandbox, until either ends. Returns the exit status. */
import { constants } from "node:os";
import { deferred } from "../../core/deferred.js";
import { AgentKernelError } from "../../core/errors.js";
import { escapeText } from "../../core/escape.js";
import type { Invocation } from "../../invocation/index.js";
import { exitStatus } from "../../runtime/command-end.js";
import type { Sandbox, Terminal, TerminalEnd } from "../../runtime/sandboxes/index.js";
import { writeErr } from "../output.js";
import { EndingSignals } from "../run/signals.js";
import { terminalSize } from "../run/terminal.js";
import type { AttachArguments } from "./attach-arguments.js";
import { ensureRunning } from "./execute.js";
import { Keyboard } from "./keyboard.js";
import { sandboxOf } from "./residents.js";

const { SIGHUP } = constants.signals;

/** `signal`: what ended it, where it was not the user's keys. */
type Left =
  | TerminalEnd
  | { readonly how: "left"; readonly signal: number | null }
  | { readonly how: "unwritable"; readonly why: AgentKernelError };

export async function attachTo(args: AttachArguments, invocation: Invocation): Promise<number> {
  const { stdin, stdout } = invocation;
  if (!stdin.isTerminal || !stdout.isTerminal) {
    const what = stdin.isTerminal ? "stdout" : "stdin";
    throw new AgentKernelError("invalid_argument", `attach needs a terminal, and ${what} is none`, {
      hint: `to run a command without one: agentkernel exec ${args.name} COMMAND`,
    });
  }
  const sandbox = sandboxOf(invocation, args.name);
  const abort = new AbortController();
  const signals = new EndingSignals(invocation.signals, () => abort.abort());
  invocation.gone?.onGone(() => abort.abort());
  try {
    await ensureRunning(sandbox, invocation, abort.signal);
    const terminal = await find(sandbox, args, invocation);
    if (abort.signal.aborted) return 128 + (signals.first ?? SIGHUP);
    const left = await look(terminal, sandbox, { args, invocation, signals });
    return await tell(left, sandbox, terminal, invocation);
  } catch (error) {
    if (abort.signal.aborted) return 128 + (signals.first ?? SIGHUP);
    throw error;
  } finally {
    signals.stop();
  }
}

async function find(sandbox: Sandbox, { which, fresh }: AttachArguments, invocation: Invocation): Promise<Terminal> {
  const terminals = await sandbox.knownTerminals();
  if (typeof which === "object") return terminals.get(which.id);
  const unwatched = which === "any" ? terminals.unwatched() : null;
  return (
    unwatched ?? (await sandbox.openTerminal({ ...fresh, hostEnv: invocation.env, size: terminalSize(invocation) }))
  );
}

interface Looking {
  readonly args: AttachArguments;
  readonly invocation: Invocation;
  readonly signals: EndingSignals;
}

/** The user's terminal is as it was before when this settles. */
async function look(terminal: Terminal, sandbox: Sandbox, { args, invocation, signals }: Looking): Promise<Left> {
  const { stdin, stdout } = invocation;
  const over = deferred<Left>();
  const restore = stdin.makeRaw();
  invocation.ifLost({ words: lostWords(sandbox, terminal) });
  const output = stdout.open((why) =>
    over.resolve(why === null ? { how: "left", signal: SIGHUP } : { how: "unwritable", why }),
  );
  const input = stdin.open();
  const keyboard: { current: Keyboard | null } = { current: null };
  const seat = terminal.attach({
    size: terminalSize(invocation),
    write: (bytes, taken) => output.sink.write(bytes, taken),
    undoChanged: (screen) => invocation.ifLost({ screen }),
    drained: () => keyboard.current?.resume(),
    end: (end) => over.resolve(end),
  });
  const hasLeft = deferred<void>();
  const leave = (signal: number | null) => {
    over.resolve({ how: "left", signal });
    hasLeft.resolve();
  };
  if (input !== null) {
    const onLeave = () => leave(null);
    keyboard.current = new Keyboard({ input, detachKeys: args.detachKeys, type: (bytes) => seat.type(bytes), onLeave });
  }
  signals.passTo((signal) => leave(signal));
  if (signals.first !== null) leave(signals.first);
  invocation.gone?.onGone(() => leave(SIGHUP));
  const stopResizing = stdout.onResize(() => seat.resize(terminalSize(invocation)));
  // Whatever was on the screen while we were stopped, it was not ours.
  const stopPausing = invocation.signals.onPause((isPaused) => (isPaused ? undefined : seat.redraw()));
  try {
    const end = await over.promise;
    output.sink.end();
    // The user gets everything that the program has shown, unless they have had enough.
    if (end.how === "exited") await Promise.race([output.done, hasLeft.promise]);
    return end;
  } finally {
    const { undo } = seat;
    stopPausing();
    stopResizing();
    seat.leave();
    keyboard.current?.stop();
    input?.destroy();
    // What waits for a reader that has stopped reading must not keep the user here.
    output.abandon();
    if (undo !== "") await Promise.race([stdout.write(undo), stuck()]);
    restore();
    invocation.ifLost({ screen: "", words: "" });
  }
}

async function tell(left: Left, sandbox: Sandbox, { id }: Terminal, invocation: Invocation): Promise<number> {
  if (left.how === "exited") return exitStatus({ exit: { ...left.info, usage: NO_USAGE }, timedOut: false });
  if (left.how === "unwritable") throw left.why;
  if (left.how === "lost") {
    throw new AgentKernelError("sandbox_died", `the terminal ${id} of ${sandbox.name} is gone: ${left.reason}`, {
      hint: `agentkernel info ${sandbox.name} says how the sandbox is`,
    });
  }
  const again = `agentkernel attach --terminal ${id} ${sandbox.name}`;
  await writeErr(invocation, `\r\nagentkernel: ${escapeText(`detached; the terminal goes on: ${again}`)}\n`);
  return left.how === "left" && left.signal !== null ? 128 + left.signal : 0;
}

const NO_USAGE = { userUs: 0, systemUs: 0, maxRssKiB: 0 };

/** Of the sandbox it is not known whether it goes on, but it does not depend on the daemon. */
function lostWords(sandbox: Sandbox, { id }: Terminal): string {
  const again = `agentkernel attach --terminal ${id} ${sandbox.name}`;
  const happened = `the daemon ended; the sandbox ${sandbox.name} and its terminal ${id} go on without it`;
  return `\r\nagentkernel: ${escapeText(happened)}\n  hint: agentkernel daemon start, then ${escapeText(again)}`;
}

const STUCK_READER_MS = 1000;

function stuck(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, STUCK_READER_MS).unref();
  });
}
