/** The three streams of a run, from the command to wherever this run wants them. */
import { isatty } from "node:tty";
import type { AgentKernelError } from "../../core/errors.js";
import type { TerminalSize } from "../../core/exec.js";
import type { GuestExec } from "../../guest/index.js";
import type { RunRequest } from "../run-request.js";
import { CapturedOutput } from "./captured-output.js";
import { pumpInput, standardInput } from "./standard-input.js";
import { standardOutput } from "./standard-output.js";
import { borrowTerminal, terminalSize } from "./terminal.js";

export interface RunStreams {
  readonly hasInput: boolean;
  readonly terminal: TerminalSize | null;
  readonly captured: CapturedOutput | null;
  /** Why output was lost, where it was not the reader who went away. */
  readonly failure: AgentKernelError | null;
  /** All output has been written. */
  readonly flushed: Promise<unknown>;
  connect(exec: GuestExec): void;
  close(): void;
}

export function openStreams(request: Pick<RunRequest, "tty" | "json" | "policy" | "ask">): RunStreams {
  // A terminal that questions are put on is not the command's to read from.
  const input = request.ask && isatty(0) ? null : standardInput();
  const captured = request.json ? new CapturedOutput(request.policy.resources.outputMiB << 20) : null;
  const endings: (() => void)[] = [];
  let failure: AgentKernelError | null = null;
  const fail = (why: AgentKernelError | null) => {
    failure ??= why;
  };
  let flush: (all: Promise<unknown>) => void = () => {};
  const flushed = new Promise<unknown>((resolve) => {
    flush = resolve;
  });
  return {
    hasInput: input !== null && !request.tty,
    terminal: request.tty ? terminalSize() : null,
    captured,
    flushed,
    get failure() {
      return failure;
    },
    connect(exec) {
      const outputs = request.tty ? ([1] as const) : ([1, 2] as const);
      flush(Promise.all(outputs.map((stream) => connectOutput(exec, stream, captured, endings, fail))));
      if (request.tty) endings.push(borrowTerminal(exec));
      if (input) endings.push(pumpInput(input, exec));
    },
    close() {
      for (const end of endings) end();
      input?.destroy();
    },
  };
}

function connectOutput(
  exec: GuestExec,
  stream: 1 | 2,
  captured: CapturedOutput | null,
  endings: (() => void)[],
  fail: (why: AgentKernelError | null) => void,
): Promise<void> {
  if (captured) {
    return new Promise((resolve) => exec.onOutput(stream, captured.sink(stream, resolve)));
  }
  const output = standardOutput(stream, (why) => {
    fail(why);
    exec.stopOutput(stream);
  });
  exec.onOutput(stream, output.sink);
  endings.push(() => output.abandon());
  return output.done;
}
