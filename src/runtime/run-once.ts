/**
 * A whole run for a caller who is no terminal: a sandbox, one command in it with the streams that the caller connects,
 * and the end of both. When nobody waits any more (`signal`), everything is killed.
 */
import type { Buffer } from "node:buffer";
import type { CarryReport, SandboxEnd, UsedSoFar } from "../core/backend.js";
import { AgentKernelError } from "../core/errors.js";
import type { GuestExec } from "../guest/index.js";
import type { Asker } from "./asker.js";
import { type CommandEnd, CommandWait } from "./command-end.js";
import type { CommandStart } from "./command-start.js";
import { explainedDeath } from "./death-of-sandbox.js";
import type { RuntimeHost } from "./open-backend.js";
import { type OpenRun, openRun } from "./open-run.js";
import type { ResolvedRoot } from "./root-image.js";
import { openRunAudit, type RunAudit } from "./run-audit.js";
import type { RunRequest } from "./run-request.js";
import type { RunSandbox } from "./run-sandbox.js";
import type { Blocked } from "./sandbox-egress.js";
import { temporaryId } from "./temporary-sandbox.js";

interface RunOnceOptions {
  readonly host: RuntimeHost;
  /** Aborted when nobody waits for the end any more. */
  readonly signal: AbortSignal;
  /** Null: the command reads from /dev/null. */
  readonly stdin: Buffer | null;
  readonly timeoutMs: number | null;
  /** Who is asked about destinations that no rule covers. */
  readonly asker?: Asker | undefined;
  /** Connects the command's output. Resolves when all of it was taken. */
  readonly connect: (exec: GuestExec) => Promise<unknown>;
  /** The sandbox has its name; nothing runs yet. */
  readonly onNamed?: (sandbox: string) => void;
  /** The command runs. */
  readonly onStarted?: (sandbox: string) => void;
  /** It ended before the command did; so much was used till then. */
  readonly onKilled?: (cpuUs: number) => void;
  /** Whoever waits for the end of the sandbox and for records of it, where the caller need not. Without it the run waits. */
  readonly settleLater?: (work: Promise<readonly string[]>) => void;
}

export interface RanOnce {
  readonly sandbox: Pick<RunSandbox, "id" | "backend" | "layers">;
  readonly image: ResolvedRoot;
  readonly command: CommandEnd;
  readonly used: UsedSoFar;
  readonly carried: CarryReport | null;
  /** Nothing of the sandbox is left. Where that failed, somebody else is told why. */
  readonly over: Promise<SandboxEnd>;
  readonly blocked: readonly Blocked[];
  /** Warnings about the audit log. */
  readonly notes: readonly string[];
}

export async function runOnce(request: RunRequest, options: RunOnceOptions): Promise<RanOnce> {
  const { resident } = options.host;
  const isCall = request.module !== null && resident !== null;
  const shared = isCall ? ({ audit: resident.moduleAudit, what: "call" } as const) : null;
  const audit = openRunAudit(temporaryId(), request, options.host, shared);
  options.onNamed?.(audit.id);
  // Until there is an answer, nothing is built ahead for others.
  const answered = resident?.pool.serve();
  try {
    const { host, signal, stdin, asker } = options;
    const ahead = (start: CommandStart) => ({ ...start, stdin: stdin !== null });
    const opened = await openRun(request, { host, audit, signal, asker, ahead });
    return await runIn(opened, { request: { ...request, policy: opened.policy }, options, audit });
  } catch (error) {
    await settle(audit, options);
    throw error;
  } finally {
    answered?.();
  }
}

/** A log that is required is waited for in any case. */
async function settle(audit: RunAudit, { settleLater }: RunOnceOptions): Promise<readonly string[]> {
  if (settleLater === undefined || audit.isRequired) return await audit.settle();
  settleLater(audit.settle());
  return [];
}

interface Run {
  readonly request: RunRequest;
  readonly options: RunOnceOptions;
  readonly audit: RunAudit;
}

async function runIn(opened: OpenRun, run: Run): Promise<RanOnce> {
  const { sandbox, image, egress } = opened;
  const { options, audit } = run;
  const command = await commandIn(opened, run);
  const over = endOf(opened, audit);
  // Whoever waits for it is told.
  over.catch(() => {});
  const known = await knownEarly(sandbox, run, command);
  if (known !== null) {
    options.settleLater?.(over.then(() => audit.settle()));
    const blocked = egress?.port.blocked ?? [];
    return { sandbox, image, command, used: known, carried: null, over, blocked, notes: [] };
  }
  const end = await over;
  const blocked = egress?.port.blocked ?? [];
  const notes = await settle(audit, options);
  return { sandbox, image, command, used: end, carried: end.carried, over, blocked, notes };
}

/** The sandbox ends, and what was opened for it is closed. */
async function endOf({ sandbox, close }: OpenRun, audit: RunAudit): Promise<SandboxEnd> {
  try {
    const end = await sandbox.finish();
    audit.records.ended(end);
    return end;
  } finally {
    await close();
  }
}

/** The sandbox part of the answer, where nothing still to come can change it; otherwise null. */
async function knownEarly(
  sandbox: RunSandbox,
  { request, options, audit }: Run,
  { exit, timedOut }: CommandEnd,
): Promise<UsedSoFar | null> {
  const { mode } = request.policy.fs.workspace;
  // Of these two, something is left in the project until the end.
  const isDone = mode !== "sync" && mode !== "mount";
  if (options.settleLater === undefined || !isDone || audit.isRequired || timedOut) return null;
  const used = await sandbox.ending;
  if (used === null || used.oomKills > 0 || used.pidsDenied > 0) return null;
  return { ...used, cpuUs: used.cpuUs ?? exit.usage.userUs + exit.usage.systemUs };
}

async function commandIn(opened: OpenRun, { request, options, audit }: Run): Promise<CommandEnd> {
  const { sandbox, start } = opened;
  const startedAt = performance.now();
  try {
    if (start.makesFolder) await sandbox.makeFolder(start.command.cwd);
    const command = await runCommand(opened, options, audit);
    options.host.resident?.meter?.ended({ ms: performance.now() - startedAt, timedOut: command.timedOut });
    return command;
  } catch (error) {
    // The error says more than a second one about the sandbox that it ended.
    const end = await sandbox.kill().catch(() => null);
    await opened.close();
    if (end === null) throw error;
    audit.records.ended(end);
    options.onKilled?.(end.cpuUs ?? 0);
    throw explainedDeath(error, end, request.policy);
  }
}

async function runCommand({ sandbox, start }: OpenRun, options: RunOnceOptions, audit: RunAudit): Promise<CommandEnd> {
  const { stdin, timeoutMs, signal } = options;
  const request = { ...start.command, stdin: stdin !== null };
  const recordEnd = audit.records.execStarting(request);
  try {
    await audit.insist();
    signal.throwIfAborted();
    const exec = await (sandbox.first ?? sandbox.exec(request));
    const wait = new CommandWait(exec, timeoutMs);
    exec.opened.then(
      () => options.onStarted?.(sandbox.id),
      () => {},
    );
    audit.writeSoon();
    const end = await awaitCommand({ exec, wait, stdin, signal, flushed: options.connect(exec) });
    recordEnd(end);
    return end;
  } catch (error) {
    recordEnd({ error });
    throw error;
  }
}

interface AwaitedCommand {
  readonly exec: GuestExec;
  readonly wait: CommandWait;
  readonly stdin: Buffer | null;
  readonly signal: AbortSignal;
  /** All output was taken. */
  readonly flushed: Promise<unknown>;
}

/** A command whose caller may go away: then this rejects, and whoever called ends the command. */
export async function awaitCommand({ exec, wait, stdin, signal, flushed }: AwaitedCommand): Promise<CommandEnd> {
  const abandoned = aborted(signal);
  if (stdin !== null) {
    exec.writeStdin(stdin);
    exec.endStdin();
  }
  // A guest that never answers must not hold up the time limit.
  await Promise.race([exec.opened, wait.end, abandoned]);
  const command = await Promise.race([wait.end, abandoned]);
  // A reader may be slow; unless the time is up, it gets everything.
  if (!command.timedOut) await Promise.race([flushed, abandoned]);
  return command;
}

function aborted(signal: AbortSignal): Promise<never> {
  const gone = new Promise<never>((_, reject) => {
    const tell = () => reject(new AgentKernelError("conflict", "whoever asked for this command is gone"));
    if (signal.aborted) tell();
    else signal.addEventListener("abort", tell, { once: true });
  });
  gone.catch(() => {});
  return gone;
}
