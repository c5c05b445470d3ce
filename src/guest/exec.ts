/** One command in the sandbox, seen from the host. */
import type { Buffer } from "node:buffer";
import { deferred } from "../core/deferred.js";
import { AgentKernelError } from "../core/errors.js";
import type { ExecExit, ExecRequest, SignalScope, TerminalSize } from "../core/exec.js";
import type { Channel, ChannelHandler, ChannelShape } from "./channel.js";
import { FrameType } from "./frame.js";
import type { OutputSink } from "./inbound-stream.js";
import { isExecKey, type KeptExec, type KeptOutput } from "./kept-exec.js";
import { type GuestRefusal, readExit, readPid } from "./messages.js";
import { attachRefused, execRefused } from "./refusal.js";

export type OpenChannel = (shape: ChannelShape, body: object, handler: ChannelHandler) => Channel;

export interface GuestExec {
  /** Settles when the command image runs, or rejects with why it does not. */
  readonly opened: Promise<{ readonly pid: number }>;
  /** The command has ended. Output may still be on its way to a slow sink: its `end` says when that is through. */
  readonly exited: Promise<ExecExit>;
  /** Stream 1 is stdout (with a terminal: everything), 2 is stderr. Without a sink the command stalls when its window is full. */
  onOutput(stream: 1 | 2, sink: OutputSink): void;
  /** Nobody reads it any more: the command's next write to it fails, as with any pipe without a reader. */
  stopOutput(stream: 1 | 2): void;
  /** False: wait for drain before writing more. The chunk must not change afterwards. */
  writeStdin(chunk: Buffer): boolean;
  onDrain(listener: () => void): void;
  endStdin(): void;
  /** With `last`, what of its tree is left when the command has ended is killed. */
  signal(signal: number, scope: SignalScope, options?: { readonly last: boolean }): void;
  resize(size: TerminalSize): void;
  /** Kills the command and everything that descends from it; `exited` still tells how it ended. */
  close(): void;
}

export function openExec(open: OpenChannel, request: ExecRequest): GuestExec {
  if (request.argv.length === 0) throw new AgentKernelError("invalid_argument", "A command has at least one word.");
  if (request.key !== undefined && !isExecKey(request.key)) {
    throw new AgentKernelError("invalid_argument", `"${request.key}" cannot name a command.`, {
      hint: "a key has 1 to 64 letters, digits, dots, dashes or underscores",
    });
  }
  const shape: ChannelShape = {
    inbound: request.tty ? [1] : [1, 2],
    outbound: request.stdin || request.tty !== undefined,
    terminal: FrameType.exit,
    holdsBack: request.tty !== undefined && request.key !== undefined,
  };
  return execOn(open, shape, openBody(request), (refusal) => execRefused(refusal, request));
}

/** Where to go on in the output of a kept command; by default where the last host's acknowledgements ended. */
export interface ResumeAt {
  readonly stdout?: number;
  readonly stderr?: number;
}

/** Takes a command up that an earlier connection had started. */
export function attachExec(open: OpenChannel, kept: KeptExec, at: ResumeAt): GuestExec {
  checkResumption(kept, at);
  const shape: ChannelShape = {
    inbound: kept.tty ? [1] : [1, 2],
    outbound: kept.stdin !== null,
    // The guest says at once how much it has room for.
    outboundWindowBytes: 0,
    terminal: FrameType.exit,
    holdsBack: kept.tty,
  };
  const body = { kind: "exec-attach", key: kept.key, stdout: at.stdout, stderr: at.stderr };
  return execOn(open, shape, body, (refusal) => attachRefused(refusal, kept.key));
}

function checkResumption({ key, failure, stdout, stderr }: KeptExec, at: ResumeAt): void {
  if (failure !== null) {
    throw new AgentKernelError("conflict", `The command ${key} never ran: ${failure.message}.`);
  }
  const isIn = (output: KeptOutput | null, from: number | undefined) =>
    from === undefined || (output !== null && from >= output.acked && from <= output.sent);
  if (isIn(stdout, at.stdout) && isIn(stderr, at.stderr)) return;
  throw new AgentKernelError("invalid_argument", `The output of ${key} cannot be had from there on.`, {
    details: { stdout, stderr, asked: at },
  });
}

/** The end of a kept command is on record; the guest need not remember it. */
export function forgetExec(open: OpenChannel, key: string): Promise<void> {
  const forgotten = deferred<void>();
  const shape: ChannelShape = { inbound: [], outbound: false, terminal: FrameType.close };
  open(
    shape,
    { kind: "exec-forget", key },
    {
      opened: () => {},
      failed: (refusal) => forgotten.reject(attachRefused(refusal, key)),
      closed: () => forgotten.resolve(),
      lost: (error) => forgotten.reject(error),
    },
  );
  return forgotten.promise;
}

function execOn(
  open: OpenChannel,
  shape: ChannelShape,
  body: object,
  refused: (refusal: GuestRefusal) => AgentKernelError,
): GuestExec {
  const opened = deferred<{ pid: number }>();
  const exited = deferred<ExecExit>();
  const fail = (error: AgentKernelError) => {
    opened.reject(error);
    exited.reject(error);
  };
  const channel = open(shape, body, {
    opened: (answer) => opened.resolve({ pid: readPid(answer) }),
    failed: (refusal) => fail(refused(refusal)),
    closed: (answer) => exited.resolve(readExit(answer)),
    lost: fail,
  });
  return {
    opened: opened.promise,
    exited: exited.promise,
    onOutput: (stream, sink) => channel.inbound(stream).attach(sink),
    stopOutput: (stream) => channel.sendUnread(stream),
    writeStdin: (chunk) => channel.requireOutbound().write(chunk),
    onDrain: (listener) => channel.requireOutbound().onDrain(listener),
    endStdin: () => channel.requireOutbound().end(),
    signal: (signal, scope, { last } = { last: false }) =>
      channel.send(FrameType.signal, last ? { signal, scope, last } : { signal, scope }),
    resize: ({ cols, rows }) => channel.send(FrameType.resize, { cols, rows }),
    close: () => channel.close(),
  };
}

function openBody(request: ExecRequest): object {
  return {
    kind: "exec",
    argv: request.argv,
    cwd: request.cwd,
    env: request.env,
    user: request.user,
    stdin: request.stdin,
    tty: request.tty,
    key: request.key,
  };
}
