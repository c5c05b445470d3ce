/**
 * One program in a sandbox of its own: written into it, checked, run with a way to the tools, and gone. The sandbox has
 * no network and none of the servers' credentials; all that it can reach is what the calls of this one run may.
 */
import type { Duplex } from "node:stream";
import { AgentKernelError } from "../../core/errors.js";
import { CommandOutput } from "../../mcp/output/command-output.js";
import { hostEnvFor } from "../../mcp/reach.js";
import type { Call } from "../../mcp/tool.js";
import { type CommandEnd, exitStatus } from "../../runtime/command-end.js";
import { awaitCommand } from "../../runtime/run-once.js";
import type { RunRequest } from "../../runtime/run-request.js";
import { type HeldExec, type SessionExec, SessionSandbox } from "../../runtime/session-sandbox.js";
import { answerCalls } from "../calls/channel.js";
import type { RunCalls } from "../calls/run-calls.js";
import { readableErrors } from "./compiler.js";
import { makeHome, writeFiles } from "./home.js";
import { HOME } from "./inside.js";
import { isSource, type Program } from "./program.js";
import type { ReadySandbox, ReadySandboxes } from "./ready.js";

interface Running {
  readonly program: Program;
  readonly code: string;
  readonly request: RunRequest;
  readonly timeoutMs: number;
  /** Made when the sandbox is there, whose log they are in. */
  readonly makeCalls: (sandbox: SessionSandbox) => RunCalls;
  readonly output: CommandOutput;
  readonly ready: ReadySandboxes;
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
  const ready = running.program.isForNode ? await running.ready.take(running.request) : null;
  const sandbox = ready?.sandbox ?? (await SessionSandbox.open(running.request, { host: host.runtime, signal }));
  const kill = () => void sandbox.close();
  signal.addEventListener("abort", kill, { once: true });
  try {
    signal.throwIfAborted();
    host.noteRun(sandbox.id);
    const { files, base } = running.program;
    const deadline = performance.now() + running.timeoutMs;
    const checker = ready?.checker ?? null;
    if (ready === null) await makeHome(sandbox);
    await writeFiles(sandbox, ready === null ? [...base, ...files] : files.filter((one) => !isSource(one)));
    if (running.program.compile === null) checker?.abandon();
    else await compile({ sandbox, checker, argv: running.program.compile }, running, call);
    const left = Math.max(1, deadline - performance.now());
    return await execute({ sandbox, ready }, running, call, left);
  } finally {
    signal.removeEventListener("abort", kill);
    host.settleLater(sandbox.close().then(() => []));
  }
}

interface Compiling {
  readonly sandbox: SessionSandbox;
  /** One that waits for the program's text. */
  readonly checker: HeldExec | null;
  readonly argv: readonly string[];
}

/** A compiler that waited and did not do its work is no word about the program: another one is started. */
async function compile(compiling: Compiling, running: Running, call: Call): Promise<void> {
  const { checker } = compiling;
  if (checker !== null && !checker.hasExited) {
    const said = await check(await checker.begin(running.timeoutMs), Buffer.from(running.code), running, call);
    if (said === null) return;
    if (said.includes("error TS")) throw refused(said, running.code);
    await compiling.sandbox.files.remove(`${HOME}/main.mts`);
  }
  if (checker !== null) await writeFiles(compiling.sandbox, running.program.files.filter(isSource));
  const options = { ...execOptionsOf(compiling.argv, call, running.timeoutMs), cwd: HOME };
  const said = await check(await compiling.sandbox.exec(options), null, running, call);
  if (said !== null) throw refused(said, running.code);
}

/** What the compiler says; null where it has nothing to say. */
async function check(exec: SessionExec, stdin: Buffer | null, running: Running, call: Call): Promise<string | null> {
  const room = call.host.outputs.open(call.host.caller.id);
  const output = new CommandOutput(COMPILER_OUTPUT_MIB, room, null);
  try {
    call.host.places.charge(call.host.caller, exec.guest);
    const flushed = output.connect(exec.guest);
    const end = await awaitCommand({ exec: exec.guest, wait: exec.wait, stdin, signal: call.signal, flushed });
    if (end.timedOut) {
      throw new AgentKernelError("invalid_argument", "code: its types could not be checked in time", {
        hint: `give it more than ${running.timeoutMs} ms, or make it smaller`,
        details: { field: "code" },
      });
    }
    return exitStatus(end) === 0 ? null : output.captured.bytes().toString("utf8");
  } finally {
    room.release();
  }
}

function refused(said: string, code: string): AgentKernelError {
  const errors = readableErrors(said, code).join("\n");
  return new AgentKernelError("invalid_argument", `code: it has errors, and nothing of it was run:\n${errors}`, {
    hint: "correct it and call code_run again; code_types shows what the tools take and give",
    details: { field: "code" },
  });
}

interface Target {
  readonly sandbox: SessionSandbox;
  readonly ready: ReadySandbox | null;
}

async function execute({ sandbox, ready }: Target, running: Running, call: Call, timeoutMs: number): Promise<Ran> {
  const calls = running.makeCalls(sandbox);
  const { limits } = calls;
  let answered: Promise<void> = Promise.resolve();
  const answer = (stream: Duplex) => {
    answered = answerCalls(stream, (...asked) => calls.call(...asked), limits);
    // Heard of when the program has ended.
    answered.catch(() => {});
  };
  const { main, run } = running.program;
  ready?.calls.answer(answer);
  const exec = await (ready === null
    ? sandbox.exec(execOptionsOf(run, call, timeoutMs, sandbox), answer)
    : ready.node.begin(timeoutMs));
  call.host.places.charge(call.host.caller, exec.guest);
  try {
    const flushed = running.output.connect(exec.guest);
    const stdin = ready === null ? null : Buffer.from(`${main}\n`);
    const end = await awaitCommand({ exec: exec.guest, wait: exec.wait, stdin, signal: call.signal, flushed });
    await running.output.close();
    calls.end();
    await answered;
    return { end, calls, sandbox: sandbox.id };
  } finally {
    calls.end();
    exec.abandon();
  }
}

function execOptionsOf(argv: readonly string[], { host }: Call, timeoutMs: number, sandbox?: SessionSandbox) {
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
