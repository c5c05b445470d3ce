/** A whole `run`: start, stream, end, clean up, and say what the user should know. Returns the exit status. */
import { constants } from "node:os";
import type { LimitCounts } from "../../core/backend.js";
import { escapeText } from "../../core/escape.js";
import type { ExecRequest } from "../../core/exec.js";
import type { Invocation } from "../../invocation/index.js";
import { type CommandEnd, CommandWait, exitStatus } from "../../runtime/command-end.js";
import type { CommandStart } from "../../runtime/command-start.js";
import { explainedDeath } from "../../runtime/death-of-sandbox.js";
import { FullDisk } from "../../runtime/full-disk.js";
import { hiddenIn, MissedPaths } from "../../runtime/missed-paths.js";
import { type OpenRun, openRun } from "../../runtime/open-run.js";
import { closePorts, type OpenPort, openPorts } from "../../runtime/published-ports.js";
import type { ResolvedRoot } from "../../runtime/root-image.js";
import { openRunAudit, type RunAudit } from "../../runtime/run-audit.js";
import type { RunEgress } from "../../runtime/run-egress.js";
import type { RunRequest } from "../../runtime/run-request.js";
import type { RunSandbox } from "../../runtime/run-sandbox.js";
import { temporaryId } from "../../runtime/temporary-sandbox.js";
import { writeErr, writeJson } from "../output.js";
import { answer, type Ran } from "./answer.js";
import { statusWith } from "./carried.js";
import { waitInForeground } from "./foreground.js";
import { imageProgress } from "./image-progress.js";
import { remarksNow } from "./once-a-day.js";
import { blockedRemarks, missingRemark, publishedRemark, remarksAtEnd, remarksAtStart, spaceMiB } from "./remarks.js";
import { EndingSignals } from "./signals.js";
import { type OutputWatch, openStreams, type RunStreams } from "./streams.js";

const { SIGHUP } = constants.signals;

/** The parts of one run, from its first moment to its last. */
interface Run {
  /** With defaults that fit the backend, once that is chosen. */
  request: RunRequest;
  readonly invocation: Invocation;
  readonly audit: RunAudit;
  readonly signals: EndingSignals;
  readonly abort: AbortSignal;
  /** The caller has its answer, and hears nothing more. */
  isReleased: boolean;
  readonly failsOnConflict: boolean;
  readonly graceMs: number;
}

export async function execute(
  request: RunRequest,
  invocation: Invocation,
  options: Pick<Run, "failsOnConflict" | "graceMs">,
): Promise<number> {
  await say(invocation, request.notes);
  const together = invocation.resident?.runAudit;
  const shared = together === undefined ? null : ({ audit: together, what: "run" } as const);
  const audit = openRunAudit(temporaryId(), request, invocation, shared);
  const abort = new AbortController();
  const signals = new EndingSignals(invocation.signals, () => abort.abort());
  signals.keepCommandSignals();
  invocation.gone?.onGone(() => abort.abort());
  const run: Run = { request, invocation, audit, signals, abort: abort.signal, isReleased: false, ...options };
  try {
    return await executeWith(run);
  } catch (error) {
    if (signals.first !== null && abort.signal.aborted) return 128 + signals.first;
    throw error;
  } finally {
    signals.stop();
    if (run.isReleased) {
      for (const line of await audit.settleLater()) invocation.resident?.remark(`${audit.id}: ${line}`);
    } else {
      await say(invocation, await audit.settle());
    }
  }
}

async function executeWith(run: Run): Promise<number> {
  const { invocation, audit, signals } = run;
  const startedAt = performance.now();
  let opened: OpenRun | null = null;
  let streams: RunStreams | null = null;
  try {
    // Not before the image is there: it may be what is read from stdin.
    opened = await open(run, (start) => {
      streams = openStreams(run.request, invocation);
      return wholeRequest(start, streams);
    });
    const { sandbox, policy, image, backendWhy, egress, start } = opened;
    run.request = { ...run.request, policy };
    const { request } = run;
    streams ??= openStreams(request, invocation);
    if (signals.first !== null || run.abort.aborted) {
      audit.records.ended(await sandbox.kill());
      return 128 + (signals.first ?? SIGHUP);
    }
    if (!request.json) {
      const remarks = [...image.notes, ...remarksAtStart(request, sandbox.layers)];
      await say(invocation, remarksNow(remarks, invocation));
    }
    if (start.makesFolder) await sandbox.makeFolder(start.command.cwd);
    const ran = await runIn(sandbox, run, {
      command: wholeRequest(start.command, streams),
      streams,
      egress,
      image,
    });
    const blocked = egress?.port.blocked ?? [];
    if (request.json) {
      await audit.insist();
      const ms = performance.now() - startedAt;
      const data = answer({ request, image, backendWhy, sandbox, ran, blocked, ms });
      await writeJson(invocation, { success: true, data });
    } else {
      await say(invocation, blockedRemarks(blocked));
    }
    return statusWith(exitStatus(ran.command), ran.sandboxEnd.carried, run.failsOnConflict);
  } finally {
    (streams as RunStreams | null)?.close();
    await opened?.close();
  }
}

function wholeRequest(start: CommandStart, { hasInput, terminal }: RunStreams): ExecRequest {
  return { ...start, stdin: hasInput, ...(terminal ? { tty: terminal } : {}) };
}

async function open(
  { request, invocation, audit, abort }: Run,
  ahead: (start: CommandStart) => ExecRequest,
): Promise<OpenRun> {
  const progress = request.json ? undefined : imageProgress(invocation.stderr);
  const asker = request.ask ? (await import("./ask.js")).terminalAsker() : undefined;
  try {
    const watcher = { onProgress: progress?.report, stdin: () => invocation.stdin.open() };
    return await openRun(request, { host: invocation, audit, signal: abort, watcher, asker, ahead });
  } catch (error) {
    asker?.close();
    throw error;
  } finally {
    progress?.close();
  }
}

async function say(invocation: Invocation, lines: readonly string[]): Promise<void> {
  for (const line of lines) await writeErr(invocation, `agentkernel: ${escapeText(line)}\n`);
}

interface CommandParts {
  readonly command: ExecRequest;
  readonly streams: RunStreams;
  readonly egress: RunEgress | null;
  readonly image: ResolvedRoot;
}

async function runIn(sandbox: RunSandbox, run: Run, parts: CommandParts): Promise<Ran> {
  const { invocation, audit } = run;
  const { publish, json } = run.request;
  const { streams, egress, image } = parts;
  let ports: readonly OpenPort[] = [];
  try {
    ports = await openPorts(publish, (port) => sandbox.connectTcp(port));
    if (!json) await say(invocation, ports.map(publishedRemark));
    const missed = new MissedPaths(hiddenIn(sandbox.layers));
    const full = new FullDisk();
    const told = run.request.tty ? 1 : 2;
    const watch: OutputWatch["watch"] = (sink, stream) => missed.watch(stream === told ? full.watch(sink) : sink);
    const command = await runCommand(sandbox, run, parts.command, { streams, watcher: { watch } });
    const isFull = full.isSeen && command.exit.code !== 0;
    const missing = missingRemark(image, command);
    const hasNews = ports.length > 0 || (egress?.port.blocked ?? []).length > 0 || missed.remarks.length > 0 || isFull;
    const isQuiet = !hasNews && missing === null;
    const hits = isQuiet ? sandbox.limitsHit() : null;
    if (hits !== null) await releaseCaller(run, command, streams, hits);
    const finished = sandbox.finish();
    finished.catch(() => {});
    if (isQuiet && hits === null && mayRelease(run, command, streams)) {
      await releaseCaller(run, command, streams, await sandbox.ending);
    }
    const sandboxEnd = await finished;
    audit.records.ended(sandboxEnd);
    // Before anything of ours is printed: the terminal must be the user's own again.
    streams.close();
    if (streams.failure) throw streams.failure;
    const remarks = [
      ...(missing === null ? [] : [missing]),
      ...remarksAtEnd(run.request, command, sandboxEnd, isFull ? spaceMiB(run.request.policy, sandbox.layers) : null),
      ...missed.remarks,
    ];
    if (!json) await say(invocation, remarks);
    return { command, sandboxEnd, streams, missed: missed.remarks };
  } catch (error) {
    // The error says more than a second one about the sandbox that it ended.
    const end = await sandbox.kill().catch(() => null);
    if (end === null) throw error;
    audit.records.ended(end);
    throw explainedDeath(error, end, run.request.policy);
  } finally {
    await closePorts(ports);
  }
}

/** Whether nothing of what is still to come could be news, as far as is known before the limits are looked at. */
function mayRelease({ request, invocation, audit, signals }: Run, command: CommandEnd, streams: RunStreams): boolean {
  const { mode } = request.policy.fs.workspace;
  // Of these two, something is left in the project until the end.
  const isDone = mode !== "sync" && mode !== "mount";
  if (invocation.release === null || !isDone || request.json || audit.isRequired) return false;
  return !command.timedOut && signals.first === null && streams.failure === null;
}

/** Nobody waits for what cannot be news. `hits`: what the limits did; null where that is not known. */
async function releaseCaller(
  run: Run,
  command: CommandEnd,
  streams: RunStreams,
  hits: LimitCounts | null,
): Promise<void> {
  const { invocation, audit } = run;
  const isNews = hits === null || hits.oomKills > 0 || (command.exit.code !== 0 && hits.pidsDenied > 0);
  if (isNews || !mayRelease(run, command, streams)) return;
  // A log that takes what it is given is not waited for: how this ended is written when all of it is known.
  const lost = audit.isTaking ? [] : await audit.settle();
  streams.close();
  await say(invocation, lost);
  run.isReleased = true;
  invocation.release?.(exitStatus(command));
}

async function runCommand(
  sandbox: RunSandbox,
  run: Run,
  command: ExecRequest,
  { streams, watcher }: { readonly streams: RunStreams; readonly watcher: OutputWatch },
): Promise<CommandEnd> {
  const { audit, invocation, signals } = run;
  const recordEnd = audit.records.execStarting(command);
  try {
    await audit.insist();
    const exec = await (sandbox.first ?? sandbox.exec(command));
    streams.connect(exec, watcher);
    audit.writeSoon();
    const wait = new CommandWait(exec, run.request.policy.resources.timeoutMs);
    const end = await waitInForeground({ exec, wait, invocation, signals, streams, graceMs: run.graceMs });
    recordEnd(end);
    return end;
  } catch (error) {
    recordEnd({ error });
    throw error;
  }
}
