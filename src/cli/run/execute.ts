/** A whole `run`: start, stream, end, clean up, and say what the user should know. Returns the exit status. */
import type { Layer, SandboxEnd } from "../../core/backend.js";
import { escapeText } from "../../core/escape.js";
import type { GuestExec } from "../../guest/index.js";
import { type CommandEnd, CommandWait, exitStatus } from "../../runtime/command-end.js";
import { TemporarySandbox, temporaryId } from "../../runtime/temporary-sandbox.js";
import { writeErr, writeJson } from "../output.js";
import type { RunRequest } from "../run-request.js";
import { openRunAudit, type RunAudit } from "./audit.js";
import { openBackend } from "./backend.js";
import { remarksAtEnd, remarksAtStart } from "./remarks.js";
import { EndingSignals } from "./signals.js";
import { openStreams, type RunStreams } from "./streams.js";

export async function execute(request: RunRequest): Promise<number> {
  await say(request.notes);
  const audit = openRunAudit(temporaryId(), request);
  try {
    return await executeAudited(request, audit);
  } finally {
    await say(await audit.settle());
  }
}

async function executeAudited(request: RunRequest, audit: RunAudit): Promise<number> {
  const startedAt = performance.now();
  const abort = new AbortController();
  const signals = new EndingSignals(() => abort.abort());
  try {
    const sandbox = await start(request, audit, abort.signal);
    if (signals.first !== null) {
      audit.records.ended(await sandbox.kill());
      return 128 + signals.first;
    }
    if (!request.json) await say(remarksAtStart(request, sandbox.layers));
    const ran = await runIn(sandbox, request, audit, signals);
    if (request.json) {
      await audit.insist();
      await writeJson({ success: true, data: answer(request, sandbox, ran, performance.now() - startedAt) });
    }
    return exitStatus(ran.command);
  } catch (error) {
    if (signals.first !== null && abort.signal.aborted) return 128 + signals.first;
    throw error;
  } finally {
    signals.stop();
  }
}

async function say(lines: readonly string[]): Promise<void> {
  for (const line of lines) await writeErr(`agentkernel: ${escapeText(line)}\n`);
}

async function start(request: RunRequest, audit: RunAudit, signal: AbortSignal): Promise<TemporarySandbox> {
  const { id, records } = audit;
  const { policy, projectDir, homeDir, image } = request;
  const backend = openBackend();
  const facts = { backend: backend.name, image: { name: image.name, digest: null }, policy, project: projectDir };
  const spec = { id, hostname: id, policy, image: image.source, projectDir, homeDir };
  records.starting(facts);
  await audit.insist();
  try {
    const sandbox = await TemporarySandbox.start(backend, spec, signal);
    records.ready(sandbox.layers);
    return sandbox;
  } catch (error) {
    records.failed(error);
    throw error;
  }
}

interface Ran {
  readonly command: CommandEnd;
  readonly sandboxEnd: SandboxEnd;
  readonly streams: RunStreams;
}

async function runIn(
  sandbox: TemporarySandbox,
  request: RunRequest,
  audit: RunAudit,
  signals: EndingSignals,
): Promise<Ran> {
  const streams = openStreams(request);
  try {
    const command = await runCommand(sandbox, request, audit, signals, streams);
    const sandboxEnd = await sandbox.finish();
    audit.records.ended(sandboxEnd);
    // Before anything of ours is printed: the terminal must be the user's own again.
    streams.close();
    if (streams.failure) throw streams.failure;
    if (!request.json) await say(remarksAtEnd(request, command, sandboxEnd));
    return { command, sandboxEnd, streams };
  } catch (error) {
    // The error says more than a second one about the sandbox that it ended.
    audit.records.ended(await sandbox.kill().catch(() => null));
    throw error;
  } finally {
    streams.close();
  }
}

async function runCommand(
  sandbox: TemporarySandbox,
  request: RunRequest,
  audit: RunAudit,
  signals: EndingSignals,
  streams: RunStreams,
): Promise<CommandEnd> {
  const command = {
    argv: request.argv,
    cwd: request.cwd,
    env: request.env,
    stdin: streams.hasInput,
    ...(request.policy.proc.user !== null && !request.policy.proc.noRoot ? { user: request.policy.proc.user } : {}),
    ...(streams.terminal ? { tty: streams.terminal } : {}),
  };
  const recordEnd = audit.records.execStarting(command);
  try {
    await audit.insist();
    const exec = await sandbox.exec(command);
    streams.connect(exec);
    audit.writeSoon();
    const end = await waitFor(exec, request, signals, streams);
    recordEnd(end);
    return end;
  } catch (error) {
    recordEnd({ error });
    throw error;
  }
}

async function waitFor(
  exec: GuestExec,
  request: RunRequest,
  signals: EndingSignals,
  streams: RunStreams,
): Promise<CommandEnd> {
  const wait = new CommandWait(exec, request.policy.resources.timeoutMs);
  signals.passTo((signal) => wait.interrupt(signal));
  if (signals.first !== null) wait.interrupt(signals.first);
  // A guest that never answers must not hold up the time limit.
  await Promise.race([exec.opened, wait.end]);
  const command = await wait.end;
  const isOurDoing = command.timedOut || signals.first !== null;
  // The reader may be slow; unless the time is up or the user has had enough, it gets everything.
  if (!isOurDoing) await Promise.race([streams.flushed, interrupted(signals)]);
  return command;
}

function interrupted(signals: EndingSignals): Promise<void> {
  return new Promise((resolve) => signals.passTo(() => resolve()));
}

function answer(request: RunRequest, sandbox: { id: string; layers: readonly Layer[] }, ran: Ran, ms: number): object {
  const { command, sandboxEnd, streams } = ran;
  const captured = streams.captured;
  return {
    output: captured?.text() ?? "",
    stdout: captured?.text(1) ?? "",
    stderr: captured?.text(2) ?? "",
    dropped_bytes: captured?.droppedBytes ?? 0,
    exit_code: exitStatus(command),
    duration_ms: Math.round(ms * 1000) / 1000,
    timed_out: command.timedOut,
    sandbox: sandbox.id,
    backend: "linux",
    image: { name: request.image.name, why: request.image.why },
    profile: request.policy.profile,
    layers: sandbox.layers,
    usage: {
      cpu_us: sandboxEnd.cpuUs,
      memory_peak_bytes: sandboxEnd.memoryPeakBytes,
      oom_kills: sandboxEnd.oomKills,
      processes_denied: sandboxEnd.pidsDenied,
    },
    changes: sandboxEnd.carried,
    notes: request.notes,
  };
}
