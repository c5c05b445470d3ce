/** A whole `exec` in the foreground: as `run`, in a sandbox that is there before and after. Returns the exit status. */
import { constants } from "node:os";
import { escapeText } from "../../core/escape.js";
import type { Invocation } from "../../invocation/index.js";
import { type CommandEnd, exitStatus } from "../../runtime/command-end.js";
import { hiddenIn, MissedPaths } from "../../runtime/missed-paths.js";
import type { Blocked } from "../../runtime/sandbox-egress.js";
import type { Sandbox, SandboxExec } from "../../runtime/sandboxes/index.js";
import { writeErr, writeJson, writeOut } from "../output.js";
import { waitInForeground } from "../run/foreground.js";
import { blockedRemarks } from "../run/remarks.js";
import { EndingSignals } from "../run/signals.js";
import { openStreams, type RunStreams } from "../run/streams.js";
import { terminalSize } from "../run/terminal.js";
import type { ExecArguments } from "./exec-arguments.js";
import { sandboxOf } from "./residents.js";

const { SIGHUP } = constants.signals;

/** What `--json` tells of the sandbox, beside the command. */
type AboutSandbox = (sandbox: Sandbox) => Promise<object>;

const nothingMore: AboutSandbox = async () => ({});

export async function executeIn(args: ExecArguments, invocation: Invocation, about = nothingMore): Promise<number> {
  const sandbox = sandboxOf(invocation, args.name);
  const abort = new AbortController();
  const signals = new EndingSignals(invocation.signals, () => abort.abort());
  signals.keepCommandSignals();
  invocation.gone?.onGone(() => abort.abort());
  try {
    await ensureRunning(sandbox, invocation, abort.signal);
    if (signals.first !== null || abort.signal.aborted) return 128 + (signals.first ?? SIGHUP);
    return args.detached
      ? await runDetached(sandbox, args, invocation)
      : await runIn(sandbox, { ...args, about }, invocation, signals);
  } catch (error) {
    if (signals.first !== null && abort.signal.aborted) return 128 + signals.first;
    throw error;
  } finally {
    signals.stop();
  }
}

/** A command in a sandbox that does not run means that it should; the user is told. */
export async function ensureRunning(sandbox: Sandbox, invocation: Invocation, signal?: AbortSignal): Promise<void> {
  const before = sandbox.state;
  if (sandbox.isServing || before === "paused") return;
  const isOurs = await sandbox.start({ hostEnv: invocation.env, ...(signal === undefined ? {} : { signal }) });
  if (isOurs) await say(invocation, `${sandbox.name} was not running (${before}); it has been started`);
}

/** The id of what runs goes to stdout, as soon as it does. */
async function runDetached(sandbox: Sandbox, args: ExecArguments, invocation: Invocation): Promise<number> {
  const tty = args.tty ? terminalSize(invocation) : null;
  const exec = await sandbox.exec({ ...args, hostEnv: invocation.env, stdin: false, tty });
  await exec.guest.opened;
  if (args.json) return await writeJson(invocation, { success: true, data: { sandbox: sandbox.name, exec: exec.id } });
  return await writeOut(invocation, `${exec.id}\n`);
}

async function runIn(
  sandbox: Sandbox,
  args: ExecArguments & { readonly about: AboutSandbox },
  invocation: Invocation,
  signals: EndingSignals,
): Promise<number> {
  const startedAt = performance.now();
  const { tty, json, graceMs } = args;
  const streams = openStreams({ tty, json, policy: sandbox.record.policy, ask: false }, invocation);
  const happened = `the daemon ended, and the command with it; the sandbox ${sandbox.name} goes on`;
  invocation.ifLost({ words: `agentkernel: ${happened}\n  hint: agentkernel daemon start, then run it again` });
  let exec: SandboxExec | null = null;
  let blocked = (): readonly Blocked[] => [];
  try {
    exec = await sandbox.exec({
      ...args,
      hostEnv: invocation.env,
      stdin: streams.hasInput,
      tty: streams.terminal,
      onNetwork: (since) => {
        blocked = since;
      },
    });
    const missed = new MissedPaths("later");
    streams.connect(exec.guest, missed);
    const end = await waitInForeground({ exec: exec.guest, wait: exec.wait, invocation, signals, streams, graceMs });
    // Before anything of ours is printed: the terminal must be the user's own again.
    streams.close();
    if (streams.failure) throw streams.failure;
    const remarks = missed.isInDoubt ? missed.explain(hiddenIn((await sandbox.info()).layers)) : [];
    if (json) {
      await writeJson(invocation, {
        success: true,
        data: { ...answer(sandbox, exec, end, streams, performance.now() - startedAt), ...(await args.about(sandbox)) },
      });
    } else {
      if (end.timedOut) await say(invocation, "timed out; the command and all that it had started were ended");
      for (const line of blockedRemarks(blocked(), "create --allow-domain")) await say(invocation, line);
      for (const line of remarks) await say(invocation, line);
    }
    return exitStatus(end);
  } finally {
    // Whoever asked for it is done with it, whatever became of it.
    exec?.abandon();
    streams.close();
  }
}

function answer(sandbox: Sandbox, exec: SandboxExec, end: CommandEnd, { captured }: RunStreams, ms: number): object {
  return {
    output: captured?.text() ?? "",
    stdout: captured?.text(1) ?? "",
    stderr: captured?.text(2) ?? "",
    dropped_bytes: captured?.droppedBytes ?? 0,
    exit_code: exitStatus(end),
    duration_ms: Math.round(ms * 1000) / 1000,
    timed_out: end.timedOut,
    sandbox: sandbox.name,
    exec: exec.id,
  };
}

async function say(invocation: Invocation, line: string): Promise<void> {
  await writeErr(invocation, `agentkernel: ${escapeText(line)}\n`);
}
