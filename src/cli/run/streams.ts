/** The three streams of a run, from the command to wherever this run wants them. */
import type { AgentKernelError } from "../../core/errors.js";
import type { TerminalSize } from "../../core/exec.js";
import type { GuestExec, OutputSink } from "../../guest/index.js";
import type { Invocation, StandardOutput } from "../../invocation/index.js";
import { CapturedOutput } from "../../runtime/captured-output.js";
import type { RunRequest } from "../../runtime/run-request.js";
import { endTyping } from "./end-of-typing.js";
import { pumpInput } from "./pump-input.js";
import { borrowTerminal, terminalSize, watchScreen } from "./terminal.js";

/** Looks at what goes by: the same sink, or one around it. */
export interface OutputWatch {
  watch(sink: OutputSink, stream: 1 | 2): OutputSink;
}

export interface RunStreams {
  readonly hasInput: boolean;
  readonly terminal: TerminalSize | null;
  readonly captured: CapturedOutput | null;
  /** Why output was lost, where it was not the reader who went away. */
  readonly failure: AgentKernelError | null;
  /** All output has been written. */
  readonly flushed: Promise<unknown>;
  connect(exec: GuestExec, watcher: OutputWatch): void;
  close(): void;
}

export function openStreams(
  request: Pick<RunRequest, "tty" | "json" | "policy" | "ask">,
  invocation: Pick<Invocation, "stdin" | "stdout" | "stderr" | "ifLost">,
): RunStreams {
  const { stdin } = invocation;
  // A terminal that questions are put on is not the command's to read from.
  const input = request.ask && stdin.isTerminal ? null : stdin.open();
  // Whoever reads it later finds out.
  input?.on("error", () => {});
  const outputs = { 1: invocation.stdout, 2: invocation.stderr };
  const captured = request.json ? new CapturedOutput(request.policy.resources.outputMiB << 20) : null;
  const endings: (() => void)[] = [];
  let failure: AgentKernelError | null = null;
  let flush: (all: Promise<unknown>) => void = () => {};
  const flushed = new Promise<unknown>((resolve) => {
    flush = resolve;
  });
  return {
    hasInput: input !== null && !request.tty,
    terminal: request.tty ? terminalSize(invocation) : null,
    captured,
    flushed,
    get failure() {
      return failure;
    },
    connect(exec, watcher) {
      const used = request.tty ? ([1] as const) : ([1, 2] as const);
      flush(Promise.all(used.map((stream) => connectOutput(exec, stream, outputs[stream], watcher))));
      if (request.tty) endings.push(borrowTerminal(invocation, exec));
      const tellEnd = request.tty ? endTyping : endInput;
      if (input) endings.push(pumpInput(input, exec, tellEnd));
      else if (request.tty) endings.push(endTyping(exec));
    },
    close() {
      for (const end of endings) end();
      input?.destroy();
    },
  };

  function connectOutput(exec: GuestExec, stream: 1 | 2, target: StandardOutput, watcher: OutputWatch): Promise<void> {
    if (captured) {
      return new Promise((resolve) => exec.onOutput(stream, watcher.watch(captured.sink(stream, resolve), stream)));
    }
    const output = target.open((why) => {
      failure ??= why;
      exec.stopOutput(stream);
    });
    exec.onOutput(stream, watcher.watch(request.tty ? watchScreen(output.sink, invocation) : output.sink, stream));
    endings.push(() => output.abandon());
    return output.done;
  }
}

function endInput(exec: GuestExec): () => void {
  exec.endStdin();
  return () => {};
}
