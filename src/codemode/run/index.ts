/**
 * One program in a sandbox of its own: written into it, checked, run with a way to the tools, and gone. The sandbox has
 * no network and none of the servers' credentials; all that it can reach is what the calls of this one run may.
 */
import { AgentKernelError } from "../../core/errors.js";
import { CommandOutput } from "../../mcp/output/command-output.js";
import { hostEnvFor } from "../../mcp/reach.js";
import type { Call } from "../../mcp/tool.js";
import { type CommandEnd, exitStatus } from "../../runtime/command-end.js";
import { attended } from "../../runtime/run-once.js";
import type { RunRequest } from "../../runtime/run-request.js";
import { SessionSandbox } from "../../runtime/session-sandbox.js";
import { answerCalls } from "../calls/channel.js";
import type { RunCalls } from "../calls/run-calls.js";
import { readableErrors } from "./compiler.js";
import { HOME } from "./inside.js";
import type { Program, ProgramFile } from "./program.js";

export interface Running {
  readonly program: Program;
  readonly code: string;
  readonly request: RunRequest;
  readonly timeoutMs: number;
  /** Made when the sandbox is there, whose log they are in. */
  readonly makeCalls: (sandbox: SessionSandbox) => RunCalls;
  readonly output: CommandOutput;
}

export interface Ran {
  readonly end: CommandEnd;
  readonly calls: RunCalls;
  readonly sandbox: string;
}

/** A compiler that writes more than this has been asked to. */
const COMPILER_OUTPUT_MIB = 1;
const PROJECT = "/workspace";

export async function runProgram(running: Running, call: Call): Promise<Ran> {
  const { host, signal } = call;
  const sandbox = await SessionSandbox.open(running.request, { host: host.runtime, signal });
  const kill = () => void sandbox.close();
  signal.addEventListener("abort", kill, { once: true });
  try {
    host.noteRun(sandbox.id);
    await write(sandbox, running.program.files);
    const deadline = performance.now() + running.timeoutMs;
    await compile(sandbox, running, call);
    const left = Math.max(1, deadline - performance.now());
    return await execute(sandbox, running, call, left);
  } finally {
    signal.removeEventListener("abort", kill);
    host.settleLater(sandbox.close().then(() => []));
  }
}

async function write({ files }: SessionSandbox, program: readonly ProgramFile[]): Promise<void> {
  const made = program.map(({ path, bytes }) => files.writeFile(path, bytes, { parents: true }));
  // Whoever the command runs as writes what it compiles there.
  const folder = files.mkdir(`${HOME}/js`, { parents: true, mode: 0o777 });
  await Promise.all([...made, folder]);
}

async function compile(sandbox: SessionSandbox, { program, code, timeoutMs }: Running, call: Call): Promise<void> {
  if (program.compile === null) return;
  const room = call.host.outputs.open(call.host.caller.id);
  const output = new CommandOutput(COMPILER_OUTPUT_MIB, room, null);
  try {
    const wish = { ...wishOf(program.compile, call, timeoutMs), cwd: HOME };
    const exec = await sandbox.exec(wish);
    call.host.places.charge(call.host.caller, exec.guest);
    const flushed = output.connect(exec.guest);
    const end = await attended({ exec: exec.guest, wait: exec.wait, stdin: null, signal: call.signal, flushed });
    if (exitStatus(end) === 0) return;
    const errors = readableErrors(output.captured.bytes().toString("utf8"), code);
    const what = end.timedOut ? "its types could not be checked in time" : "it has errors, and nothing of it was run";
    throw new AgentKernelError("invalid_argument", `code: ${what}:\n${errors.join("\n")}`, {
      hint: "correct it and call code_run again; code_types shows what the tools take and give",
      details: { field: "code" },
    });
  } finally {
    room.release();
  }
}

async function execute(sandbox: SessionSandbox, running: Running, call: Call, timeoutMs: number): Promise<Ran> {
  const calls = running.makeCalls(sandbox);
  const { limits } = calls;
  let answered: Promise<void> = Promise.resolve();
  const exec = await sandbox.exec(wishOf(running.program.run, call, timeoutMs, sandbox), (stream) => {
    answered = answerCalls(stream, (...asked) => calls.call(...asked), limits);
    // Heard of when the program has ended.
    answered.catch(() => {});
  });
  call.host.places.charge(call.host.caller, exec.guest);
  try {
    const flushed = running.output.connect(exec.guest);
    const end = await attended({ exec: exec.guest, wait: exec.wait, stdin: null, signal: call.signal, flushed });
    await running.output.close();
    calls.end();
    await answered;
    return { end, calls, sandbox: sandbox.id };
  } finally {
    calls.end();
    exec.abandon();
  }
}

function wishOf(argv: readonly string[], { host }: Call, timeoutMs: number, sandbox?: SessionSandbox) {
  const hasProject = sandbox !== undefined && sandbox.request.projectDir !== null;
  return {
    argv,
    hostEnv: hostEnvFor(host),
    cwd: hasProject ? PROJECT : HOME,
    stdin: false,
    timeoutMs,
    detached: false,
  };
}
