/** A whole `run`: start, stream, end, clean up, and say what the user should know. Returns the exit status. */
import { constants } from "node:os";
import { AgentKernelError } from "../../core/errors.js";
import { escapeText } from "../../core/escape.js";
import type { ExecRequest } from "../../core/exec.js";
import type { GuestExec } from "../../guest/index.js";
import { type CommandEnd, CommandWait, exitStatus } from "../../runtime/command-end.js";
import { closePorts, type OpenPort, openPorts } from "../../runtime/published-ports.js";
import { type RootImage, rootImage } from "../../runtime/root-image.js";
import { TemporarySandbox, temporaryId } from "../../runtime/temporary-sandbox.js";
import type { Invocation } from "../invocation/index.js";
import { writeErr, writeJson } from "../output.js";
import type { RunRequest } from "../run-request.js";
import { answer, type Ran } from "./answer.js";
import { openRunAudit, type RunAudit } from "./audit.js";
import { openBackend } from "./backend.js";
import { type CommandStart, startOf } from "./command-start.js";
import { openEgress, type RunEgress } from "./egress.js";
import { imageProgress } from "./image-progress.js";
import { blockedRemarks, publishedRemark, remarksAtEnd, remarksAtStart } from "./remarks.js";
import { EndingSignals } from "./signals.js";
import { openStreams, type RunStreams } from "./streams.js";

const { SIGCONT, SIGHUP, SIGSTOP } = constants.signals;

/** What one run is made of, from its first moment to its last. */
interface Run {
  readonly request: RunRequest;
  readonly invocation: Invocation;
  readonly audit: RunAudit;
  readonly signals: EndingSignals;
  readonly abort: AbortSignal;
}

export async function execute(request: RunRequest, invocation: Invocation): Promise<number> {
  await say(invocation, request.notes);
  const audit = openRunAudit(temporaryId(), request, invocation);
  const abort = new AbortController();
  const signals = new EndingSignals(invocation.signals, () => abort.abort());
  invocation.gone?.addEventListener("abort", () => abort.abort(), { once: true });
  try {
    return await executeWith({ request, invocation, audit, signals, abort: abort.signal });
  } catch (error) {
    if (signals.first !== null && abort.signal.aborted) return 128 + signals.first;
    throw error;
  } finally {
    signals.stop();
    await say(invocation, await audit.settle());
  }
}

async function executeWith(run: Run): Promise<number> {
  const { request, invocation, audit, signals } = run;
  const startedAt = performance.now();
  const image = await openImage(run);
  const egress = await openEgress(request, audit);
  let streams: RunStreams | null = null;
  try {
    const start = startOf(request, image);
    streams = openStreams(request, invocation);
    const command = wholeRequest(withSecrets(start.command, egress), streams);
    // It waits for what has to be ready before it: a folder, a port, a terminal, a record.
    const isFree = !start.makesFolder && request.publish.length === 0 && !request.tty && !audit.isRequired;
    const sandbox = await startSandbox(run, image, egress, isFree ? command : undefined);
    if (signals.first !== null || run.abort.aborted) {
      audit.records.ended(await sandbox.kill());
      return 128 + (signals.first ?? SIGHUP);
    }
    if (!request.json) await say(invocation, [...image.notes, ...remarksAtStart(request, sandbox.layers)]);
    if (start.makesFolder) await sandbox.makeFolder(start.command.cwd);
    const ran = await runIn(sandbox, run, { command, streams, egress });
    const blocked = egress?.port.blocked ?? [];
    if (request.json) {
      await audit.insist();
      const ms = performance.now() - startedAt;
      const data = answer({ request, image, sandbox, ran, blocked, ms });
      await writeJson(invocation, { success: true, data });
    } else {
      await say(invocation, blockedRemarks(blocked));
    }
    return exitStatus(ran.command);
  } finally {
    streams?.close();
    await egress?.close();
    await image.release();
  }
}

function wholeRequest(start: CommandStart, { hasInput, terminal }: RunStreams): ExecRequest {
  return { ...start, stdin: hasInput, ...(terminal ? { tty: terminal } : {}) };
}

async function openImage({ request: { image, imageSettings, json }, invocation, abort }: Run): Promise<RootImage> {
  if (image.name === "host") return await rootImage(image, imageSettings);
  const progress = json ? undefined : imageProgress(invocation.stderr);
  try {
    return await rootImage(image, imageSettings, {
      onProgress: progress?.report,
      signal: abort,
      stdin: () => invocation.stdin.open(),
    });
  } finally {
    progress?.close();
  }
}

/** Placeholders stand in for what a variable of the same name would have given away. */
function withSecrets(start: CommandStart, egress: RunEgress | null): CommandStart {
  return egress === null ? start : { ...start, env: { ...start.env, ...egress.env } };
}

async function say(invocation: Invocation, lines: readonly string[]): Promise<void> {
  for (const line of lines) await writeErr(invocation, `agentkernel: ${escapeText(line)}\n`);
}

async function startSandbox(
  { request, invocation, audit, abort }: Run,
  image: RootImage,
  egress: RunEgress | null,
  command: ExecRequest | undefined,
): Promise<TemporarySandbox> {
  const { id, records } = audit;
  const { policy, projectDir, homeDir } = request;
  const backend = openBackend(invocation);
  const { name, digest } = image;
  records.starting({ backend: backend.name, image: { name, digest }, policy, project: projectDir });
  await audit.insist();
  try {
    const certificate = egress?.trustedCertificate ?? null;
    const trust = certificate === null ? {} : { trustedCertificate: certificate };
    const spec = { id, hostname: id, policy, image: image.source, projectDir, homeDir, ...trust };
    const sandbox = await TemporarySandbox.start(backend, spec, abort, egress?.port, command);
    records.ready(sandbox.layers);
    return sandbox;
  } catch (error) {
    records.failed(error);
    throw error;
  }
}

interface CommandParts {
  readonly command: ExecRequest;
  readonly streams: RunStreams;
  readonly egress: RunEgress | null;
}

async function runIn(sandbox: TemporarySandbox, run: Run, parts: CommandParts): Promise<Ran> {
  const { invocation, audit } = run;
  const { publish, json } = run.request;
  const { streams, egress } = parts;
  let ports: readonly OpenPort[] = [];
  try {
    ports = await openPorts(publish, (port) => sandbox.connectTcp(port));
    if (!json) await say(invocation, ports.map(publishedRemark));
    const command = await runCommand(sandbox, run, parts.command, streams);
    const finished = sandbox.finish();
    finished.catch(() => {});
    if (ports.length === 0 && (egress?.port.blocked ?? []).length === 0) {
      await releaseCaller(sandbox, run, command, streams);
    }
    const sandboxEnd = await finished;
    audit.records.ended(sandboxEnd);
    // Before anything of ours is printed: the terminal must be the user's own again.
    streams.close();
    if (streams.failure) throw streams.failure;
    if (!json) await say(invocation, remarksAtEnd(run.request, command, sandboxEnd));
    return { command, sandboxEnd, streams };
  } catch (error) {
    // The error says more than a second one about the sandbox that it ended.
    await sandbox.kill().then(
      (end) => audit.records.ended(end),
      () => {},
    );
    throw error;
  } finally {
    await closePorts(ports);
  }
}

/** Where nothing of what is still to come could be news, nobody waits for it. */
async function releaseCaller(
  sandbox: TemporarySandbox,
  { request, invocation, audit, signals }: Run,
  command: CommandEnd,
  streams: RunStreams,
): Promise<void> {
  const { mode } = request.policy.fs.workspace;
  // Of these two, something is left in the project until the end.
  const isDone = mode !== "sync" && mode !== "mount";
  if (invocation.release === null || !isDone || request.json || audit.isRequired) return;
  if (command.timedOut || signals.first !== null || streams.failure !== null) return;
  // While the sandbox looks at its limits.
  const lost = await audit.settle();
  const hits = await sandbox.ending;
  const isNews = hits === null || hits.oomKills > 0 || (command.exit.code !== 0 && hits.pidsDenied > 0);
  if (isNews) return;
  streams.close();
  await say(invocation, lost);
  invocation.release(exitStatus(command));
}

async function runCommand(
  sandbox: TemporarySandbox,
  run: Run,
  command: ExecRequest,
  streams: RunStreams,
): Promise<CommandEnd> {
  const { audit, invocation } = run;
  const recordEnd = audit.records.execStarting(command);
  try {
    await audit.insist();
    const exec = await (sandbox.first ?? sandbox.exec(command));
    streams.connect(exec);
    // A process that goes on has time for that later.
    if (invocation.resident === null) audit.writeSoon();
    const end = await waitFor(exec, run, streams);
    recordEnd(end);
    return end;
  } catch (error) {
    recordEnd({ error });
    throw error;
  }
}

async function waitFor(exec: GuestExec, run: Run, streams: RunStreams): Promise<CommandEnd> {
  const { request, invocation, signals } = run;
  const wait = new CommandWait(exec, request.policy.resources.timeoutMs);
  const vanished = callerVanished(invocation);
  signals.passTo((signal) => wait.interrupt(signal));
  if (signals.first !== null) wait.interrupt(signals.first);
  // Whoever stops us means the command too, as with a local process in the foreground.
  const stopPausing = invocation.signals.onPause((isPaused) => exec.signal(isPaused ? SIGSTOP : SIGCONT, "tree"));
  try {
    // A guest that never answers must not hold up the time limit.
    await Promise.race([exec.opened, wait.end, vanished]);
    const command = await Promise.race([wait.end, vanished]);
    const isOurDoing = command.timedOut || signals.first !== null;
    // The reader may be slow; unless the time is up or the user has had enough, it gets everything.
    if (!isOurDoing) await Promise.race([streams.flushed, interrupted(signals), vanished]);
    return command;
  } finally {
    stopPausing();
  }
}

/** Rejects when nobody waits for the command any more. */
function callerVanished({ gone }: Invocation): Promise<never> {
  if (gone === null) return new Promise<never>(() => {});
  return new Promise((_, reject) => {
    const tell = () => reject(new AgentKernelError("conflict", "whoever asked for this run is gone"));
    if (gone.aborted) tell();
    else gone.addEventListener("abort", tell, { once: true });
  });
}

function interrupted(signals: EndingSignals): Promise<void> {
  return new Promise((resolve) => signals.passTo(() => resolve()));
}
