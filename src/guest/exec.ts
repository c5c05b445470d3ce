/** One command in the sandbox, seen from the host. */
import type { Buffer } from "node:buffer";
import { deferred } from "../core/deferred.js";
import { AgentKernelError } from "../core/errors.js";
import type { ExecExit, ExecRequest, SignalScope, TerminalSize } from "../core/exec.js";
import type { Channel, ChannelHandler, ChannelShape } from "./channel.js";
import { FrameType } from "./frame.js";
import type { OutputSink } from "./inbound-stream.js";
import { readExit, readPid } from "./messages.js";
import { execRefused } from "./refusal.js";

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
  signal(signal: number, scope: SignalScope): void;
  resize(size: TerminalSize): void;
  /** Kills the command and everything that descends from it; `exited` still tells how it ended. */
  close(): void;
}

export function openExec(open: OpenChannel, request: ExecRequest): GuestExec {
  if (request.argv.length === 0) throw new AgentKernelError("invalid_argument", "A command has at least one word.");
  const opened = deferred<{ pid: number }>();
  const exited = deferred<ExecExit>();
  const fail = (error: AgentKernelError) => {
    opened.reject(error);
    exited.reject(error);
  };
  const hasStdin = request.stdin || request.tty !== undefined;
  const shape: ChannelShape = {
    inbound: request.tty ? [1] : [1, 2],
    outbound: hasStdin,
    terminal: FrameType.exit,
  };
  const channel = open(shape, openBody(request), {
    opened: (body) => opened.resolve({ pid: readPid(body) }),
    failed: (refusal) => fail(execRefused(refusal, request)),
    closed: (body) => exited.resolve(readExit(body)),
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
    signal: (signal, scope) => channel.send(FrameType.signal, { signal, scope }),
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
  };
}
