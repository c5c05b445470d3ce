/** A whole `run`: start, stream, end, clean up, and say what the user should know. Returns the exit status. */
import type { Layer, SandboxEnd } from "../../core/backend.js";
import { escapeText } from "../../core/escape.js";
import type { GuestExec } from "../../guest/index.js";
import { type CommandEnd, CommandWait, exitStatus } from "../../runtime/command-end.js";
import { type RootImage, rootImage } from "../../runtime/root-image.js";
import { TemporarySandbox, temporaryId } from "../../runtime/temporary-sandbox.js";
import { writeErr, writeJson } from "../output.js";
import type { RunRequest } from "../run-request.js";
import { openBackend } from "./backend.js";
import { type CommandStart, startOf } from "./command-start.js";
import { imageProgress } from "./image-progress.js";
import { remarksAtEnd, remarksAtStart } from "./remarks.js";
import { EndingSignals } from "./signals.js";
import { openStreams, type RunStreams } from "./streams.js";

export async function execute(request: RunRequest): Promise<number> {
  await say(request.notes);
  const startedAt = performance.now();
  const abort = new AbortController();
  const signals = new EndingSignals(() => abort.abort());
  let image: RootImage | null = null;
  try {
    image = await openImage(request, abort.signal);
    const start = startOf(request, image);
    const sandbox = await startSandbox(request, image, abort.signal);
    if (signals.first !== null) {
      await sandbox.kill();
      return 128 + signals.first;
    }
    if (!request.json) await say([...image.notes, ...remarksAtStart(request, sandbox.layers)]);
    const ran = await runIn(sandbox, request, start, signals);
    if (request.json) {
      await writeJson({ success: true, data: answer(request, image, sandbox, ran, performance.now() - startedAt) });
    }
    return exitStatus(ran.command);
  } catch (error) {
    if (signals.first !== null && abort.signal.aborted) return 128 + signals.first;
    throw error;
  } finally {
    await image?.release();
    signals.stop();
  }
}

async function openImage(request: RunRequest, signal: AbortSignal): Promise<RootImage> {
  const { image, imageSettings, json } = request;
  if (image.name === "host") return await rootImage(image, imageSettings);
  const progress = json ? undefined : imageProgress();
  try {
    return await rootImage(image, imageSettings, { onProgress: progress?.report, signal });
  } finally {
    progress?.close();
  }
}

async function say(lines: readonly string[]): Promise<void> {
  for (const line of lines) await writeErr(`agentkernel: ${escapeText(line)}\n`);
}

async function startSandbox(request: RunRequest, image: RootImage, signal: AbortSignal): Promise<TemporarySandbox> {
  const id = temporaryId();
  const { policy, projectDir, homeDir } = request;
  const spec = { id, hostname: id, policy, image: image.source, projectDir, homeDir };
  return await TemporarySandbox.start(openBackend(), spec, signal);
}

interface Ran {
  readonly command: CommandEnd;
  readonly sandboxEnd: SandboxEnd;
  readonly streams: RunStreams;
}

async function runIn(
  sandbox: TemporarySandbox,
  request: RunRequest,
  start: CommandStart,
  signals: EndingSignals,
): Promise<Ran> {
  const streams = openStreams(request);
  try {
    const exec = await sandbox.exec({
      ...start,
      stdin: streams.hasInput,
      ...(streams.terminal ? { tty: streams.terminal } : {}),
    });
    streams.connect(exec);
    const command = await waitFor(exec, request, signals, streams);
    const sandboxEnd = await sandbox.finish();
    // Before anything of ours is printed: the terminal must be the user's own again.
    streams.close();
    if (streams.failure) throw streams.failure;
    if (!request.json) await say(remarksAtEnd(request, command, sandboxEnd));
    return { command, sandboxEnd, streams };
  } catch (error) {
    // The error says more than a second one about the sandbox that it ended.
    await sandbox.kill().catch(() => {});
    throw error;
  } finally {
    streams.close();
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

function answer(
  request: RunRequest,
  image: RootImage,
  sandbox: { id: string; layers: readonly Layer[] },
  ran: Ran,
  ms: number,
): object {
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
    image: { name: image.name, digest: image.digest, why: image.why },
    profile: request.policy.profile,
    layers: sandbox.layers,
    usage: {
      cpu_us: sandboxEnd.cpuUs,
      memory_peak_bytes: sandboxEnd.memoryPeakBytes,
      oom_kills: sandboxEnd.oomKills,
      processes_denied: sandboxEnd.pidsDenied,
    },
    changes: sandboxEnd.carried,
    notes: [...request.notes, ...image.notes],
  };
}
