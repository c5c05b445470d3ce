/** `process.Process`: commands and terminals, started, watched, fed and ended. */
import { Buffer } from "node:buffer";
import { decodeContent } from "../../api/commands/captured.js";
import { deferred } from "../../core/deferred.js";
import { AgentKernelError } from "../../core/errors.js";
import type { SignalScope } from "../../core/exec.js";
import { invalid } from "../errors.js";
import type { EnvdCall } from "./call.js";
import { type MessageStream, readMessages } from "./connect-protocol.js";
import type { Method } from "./method.js";
import {
  empty,
  type Input,
  inputRequest,
  type Selector,
  selected,
  signalRequest,
  startRequest,
  streamedInput,
  updateRequest,
} from "./process-messages.js";
import type { Process, ProcessFacts, Watcher } from "./processes.js";
import { startProcess } from "./start-process.js";

/** Killed with all that it started: something that goes on would hold its output open for ever. */
const scopes: Readonly<Record<number, SignalScope>> = { 9: "tree", 15: "process" };

function processOf({ processes, sandbox }: EnvdCall, which: Selector): Process {
  const found = processes.find(sandbox, which);
  if (found !== undefined) return found;
  const name = which.pid === undefined ? `tag ${which.tag?.slice(0, 80)}` : `pid ${which.pid}`;
  throw new AgentKernelError("not_found", `process with ${name} not found`);
}

const processList: Method = {
  kind: "single",
  serve: async (call, message) => {
    empty.read(message, "");
    const processes = call.processes.list(call.sandbox).map(({ pid: number, facts }) => shown(number, facts));
    return { processes };
  },
};

function shown(number: number, { cmd, args, envs, cwd, tag }: ProcessFacts): object {
  return {
    config: { cmd, args, envs, ...(cwd === undefined ? {} : { cwd }) },
    pid: number,
    ...(tag === undefined ? {} : { tag }),
  };
}

const start: Method = {
  kind: "stream",
  serve: async (call, message, stream) => {
    const asked = startRequest.read(message, "");
    await follow(call, stream, (watcher) => startProcess(call, asked, watcher, (number) => started(stream, number)));
  },
};

const connect: Method = {
  kind: "stream",
  serve: async (call, message, stream) => {
    const process = processOf(call, selected.read(message, "").process);
    started(stream, process.pid);
    await follow(call, stream, async (watcher) => process.watch(watcher));
  },
};

/** Comes before all else. */
function started(stream: MessageStream, number: number): void {
  stream.send({ event: { start: { pid: number } } });
}

/** Tells the client all that happens, until the end or until the client goes. `begin` returns how to look away. */
async function follow(
  call: EnvdCall,
  stream: MessageStream,
  begin: (watcher: Watcher) => Promise<() => void>,
): Promise<void> {
  const over = deferred<void>();
  call.response.once("close", () => over.resolve());
  const giveUp = () => {
    stream.end({ code: "unavailable", message: "the server is about to end" });
    over.resolve();
  };
  call.signal.addEventListener("abort", giveUp, { once: true });
  const lookAway = await begin({
    data: (name, chunk, done) => stream.send({ event: { data: { [name]: chunk.toString("base64") } } }, done),
    end: (info) => {
      if (info.state !== "ended") stream.end({ code: "unavailable", message: info.error ?? "the command was lost" });
      else if (info.timedOut) stream.end({ code: "deadline_exceeded", message: "the command's time was up" });
      else stream.send({ event: { end: endOf(info) } });
      over.resolve();
    },
  });
  const beats = keepAlive(call, () => stream.send({ event: { keepalive: {} } }));
  await over.promise;
  clearInterval(beats);
  lookAway();
}

function endOf({ code, signal }: { readonly code: number | null; readonly signal: number | null }): object {
  if (code !== null) return { exitCode: code, exited: true, status: `exit status ${code}` };
  // As a shell has it, whose users compare with 128 and more.
  return { exitCode: 128 + (signal ?? 0), exited: false, status: `signal ${signal}`, error: `signal ${signal}` };
}

function keepAlive({ request }: EnvdCall, beat: () => void): NodeJS.Timeout | undefined {
  const seconds = Number(request.headers["keepalive-ping-interval"]);
  if (!Number.isInteger(seconds) || seconds < 1 || seconds > 3600) return undefined;
  return setInterval(beat, seconds * 1000).unref();
}

const update: Method = {
  kind: "single",
  serve: async (call, message) => {
    const { process: which, pty: terminal } = updateRequest.read(message, "");
    const process = processOf(call, which);
    if (terminal?.size === undefined) return {};
    if (!process.isTerminal) throw new AgentKernelError("invalid_argument", "the process has no terminal");
    process.exec.guest.resize({ cols: terminal.size.cols || 80, rows: terminal.size.rows || 24 });
    return {};
  },
};

async function feed(call: EnvdCall, process: Process, { stdin, pty: typed }: Input): Promise<void> {
  const encoded = process.isTerminal ? typed : stdin;
  if (encoded === undefined) {
    const wanted = process.isTerminal ? "input.pty, since it has a terminal" : "input.stdin";
    throw new AgentKernelError("invalid_argument", `the process takes ${wanted}`);
  }
  if (!process.takesInput) {
    throw new AgentKernelError("invalid_argument", "the process was started without an input, or it is closed");
  }
  const bytes = Buffer.from(decodeContent(encoded, "base64", "input"));
  await process.write(bytes, call.signal);
}

const sendInput: Method = {
  kind: "single",
  serve: async (call, message) => {
    const asked = inputRequest.read(message, "");
    await feed(call, processOf(call, asked.process), asked.input ?? {});
    return {};
  },
};

const streamInput: Method = {
  kind: "input",
  serve: async (call) => {
    let process: Process | undefined;
    for await (const message of readMessages(call.source, call.host.maxBodyBytes)) {
      const { start: begun, data } = streamedInput.read(message, "");
      if (begun !== undefined) process = processOf(call, begun.process);
      if (data === undefined) continue;
      if (process === undefined) throw invalid("data", "comes before start, which says for which process it is");
      await feed(call, process, data.input);
    }
    return {};
  },
};

const sendSignal: Method = {
  kind: "single",
  serve: async (call, message) => {
    const { process: which, signal } = signalRequest.read(message, "");
    const process = processOf(call, which);
    process.exec.guest.signal(signal, scopes[signal] ?? "process");
    // What comes next may rely on its being gone.
    if (signal === 9) await process.exec.over;
    return {};
  },
};

const closeStdin: Method = {
  kind: "single",
  serve: async (call, message) => {
    const process = processOf(call, selected.read(message, "").process);
    if (process.isTerminal || !process.takesInput) throw new AgentKernelError("invalid_argument", "it has no input");
    process.exec.guest.endStdin();
    process.takesInput = false;
    return {};
  },
};

export const processService: Readonly<Record<string, Method>> = {
  List: processList,
  Start: start,
  Connect: connect,
  Update: update,
  SendInput: sendInput,
  StreamInput: streamInput,
  SendSignal: sendSignal,
  CloseStdin: closeStdin,
};
