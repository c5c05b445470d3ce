/** `stop`: ends what runs in sandboxes that stay; with `--all` or `--all-of-user`, every sandbox at once. */
import type { CarryReport } from "../../core/backend.js";
import { AgentKernelError } from "../../core/errors.js";
import { escapeText } from "../../core/escape.js";
import { shownCarry } from "../../core/shown-carry.js";
import type { Invocation } from "../../invocation/index.js";
import { parseTypedDurationMs } from "../../policy/resources.js";
import { endCommand } from "../../runtime/sandboxes/end-command.js";
import { wordsOf } from "../images/words.js";
import type { ParsedOptions } from "../option-spec.js";
import { writeErr, writeJson, writeOut } from "../output.js";
import { carriedRemarks, statusWith } from "../run/carried.js";
import { forEach } from "../sandboxes/each.js";
import { sandboxOf } from "../sandboxes/residents.js";

const USUAL_GRACE_MS = 10_000;

/** The kill switch must not depend on whom it is to end. */
export function runsApart({ flags }: ParsedOptions): boolean {
  return isKillSwitch(flags);
}

export function needsDaemon({ flags }: ParsedOptions): boolean {
  return !isKillSwitch(flags);
}

export async function execute(parsed: ParsedOptions, invocation: Invocation): Promise<number> {
  if (isKillSwitch(parsed.flags)) return await (await import("../sandboxes/stop-all.js")).stopAll(parsed, invocation);
  const command = parsed.values.get("command")?.[0];
  if (command !== undefined) return await stopCommand(parsed, invocation, command);
  const text = parsed.values.get("timeout")?.[0];
  const graceMs = text === undefined ? USUAL_GRACE_MS : parseTypedDurationMs("--timeout", text);
  const failsOnConflict = parsed.flags.has("fail-on-conflict");
  const synced = new Map<string, CarryReport>();
  const more = () => ({ changes: [...synced].map(([name, report]) => ({ name, ...shownCarry(report) })) });
  const status = await forEach(
    parsed,
    invocation,
    "stop",
    async (name) => {
      const report = await stop(invocation, name, graceMs);
      if (report === null) return;
      synced.set(name, report);
      if (!parsed.flags.has("json")) await tell(invocation, name, report);
    },
    { more },
  );
  return [...synced.values()].reduce((worst, report) => statusWith(worst, report, failsOnConflict), status);
}

/** What it carried over; null where it was not running, or its project is not synced. */
/** One command, killed: the sandbox and its other commands run on. */
async function stopCommand(parsed: ParsedOptions, invocation: Invocation, id: string): Promise<number> {
  const other = ["timeout", "fail-on-conflict"].find((name) => parsed.values.has(name) || parsed.flags.has(name));
  if (other !== undefined) {
    throw new AgentKernelError("invalid_argument", `--command contradicts --${other}`, {
      hint: "a command is killed at once, and nothing is carried over; leave one of them out",
    });
  }
  const [name = ""] = wordsOf(parsed, "stop --command", "the name of the sandbox that it runs in", 1, 1);
  const { state } = await endCommand(sandboxOf(invocation, name), id);
  if (parsed.flags.has("json")) {
    return await writeJson(invocation, { success: true, data: { exec: id, sandbox: name, state } });
  }
  return await writeOut(invocation, `${id}\n`);
}

async function stop(invocation: Invocation, name: string, graceMs: number): Promise<CarryReport | null> {
  const sandbox = sandboxOf(invocation, name);
  const isOver = sandbox.state === "created" || sandbox.state === "stopped";
  await sandbox.stop({ graceMs });
  if (isOver) return null;
  const { lastEnd } = await sandbox.info();
  return lastEnd?.end.carried ?? null;
}

async function tell(invocation: Invocation, name: string, report: CarryReport): Promise<void> {
  for (const remark of carriedRemarks(report)) {
    await writeErr(invocation, `agentkernel: ${escapeText(`${name}: ${remark}`)}\n`);
  }
}

function isKillSwitch(flags: ParsedOptions["flags"]): boolean {
  return flags.has("all") || flags.has("all-of-user");
}
