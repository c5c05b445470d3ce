/** `stop`: ends what runs in sandboxes that stay; with `--all` or `--all-of-user`, every sandbox at once. */
import type { CarryReport } from "../../core/backend.js";
import { escapeText } from "../../core/escape.js";
import { shownCarry } from "../../core/shown-carry.js";
import type { Invocation } from "../../invocation/index.js";
import { parseTypedDurationMs } from "../../policy/resources.js";
import type { ParsedOptions } from "../option-spec.js";
import { writeErr } from "../output.js";
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
