/** `apply NAME [path...]`: takes over what a sandbox changed. Exit status 1 where conflicts are left. */
import { appliedPaths } from "../../core/applied-paths.js";
import type { ApplyOptions, ApplyReport, ProjectChange } from "../../core/changes.js";
import { AgentKernelError } from "../../core/errors.js";
import { escapeJson, escapeText } from "../../core/escape.js";
import { agreedTo, projectPaths } from "../../core/project-paths.js";
import type { Invocation } from "../../invocation/index.js";
import { refuseToApplyToHome } from "../../request/home-folders.js";
import { interruptible } from "../images/interruptible.js";
import type { ParsedOptions } from "../option-spec.js";
import { writeErr, writeOut } from "../output.js";
import { changesOf, type FindSandbox } from "../sandbox-files.js";
import { untilGone } from "../until-gone.js";
import { changeLine } from "./list-text.js";
import { nameAndPaths, remarkOnRest } from "./selection.js";
import { shownChange } from "./shown-change.js";

const CONFLICTS_LEFT = 1;

export async function apply(parsed: ParsedOptions, invocation: Invocation, find: FindSandbox): Promise<number> {
  const { name, words } = nameAndPaths(parsed, "apply");
  const paths = projectPaths(words);
  const [overridesHost, isRehearsal] = [parsed.flags.has("force"), parsed.flags.has("dry-run")];
  if (overridesHost && paths.length === 0) {
    throw new AgentKernelError("invalid_argument", "--force overwrites changes of the host, and so needs paths", {
      hint: `write agentkernel apply ${escapeText(name)} --force PATH; agentkernel diff ${escapeText(name)} shows the conflicts`,
    });
  }
  const yes = agreedTo(parsed.values.get("yes-to") ?? []);
  const sandbox = await find(name);
  const changes = changesOf(sandbox);
  return await interruptible(invocation, "applying", async (stopped) => {
    const signal = untilGone(invocation, stopped);
    if (!isRehearsal) {
      await sandbox.record({ operation: "read", path: "/workspace", bytes: null, verdict: "allowed" });
    }
    if (sandbox.projectDir !== null) refuseToApplyToHome(sandbox.projectDir);
    const options = { paths, isRehearsal, overridesHost };
    const run = async (how: ApplyOptions) => {
      const done = await changes.apply(sandbox.stateDir, { ...options, ...how }, signal);
      if (!isRehearsal) await sandbox.recordApplied(appliedPaths(done));
      return done;
    };
    const report = await run(yes);
    await remarkOnRest(invocation, report);
    if (parsed.flags.has("json")) {
      await writeOut(invocation, `${escapeJson(JSON.stringify(shownReport(name, report, isRehearsal)))}\n`);
    } else {
      await say(invocation, name, report, isRehearsal);
      if (report.held > 0 && !isRehearsal && invocation.stdin.isTerminal && (await wantsHeld(invocation, report))) {
        const again = await run({ yesToAll: true });
        await say(invocation, name, again, isRehearsal);
        return again.conflicts > 0 ? CONFLICTS_LEFT : 0;
      }
    }
    return report.conflicts > 0 ? CONFLICTS_LEFT : 0;
  });
}

async function say(invocation: Invocation, name: string, report: ApplyReport, isRehearsal: boolean): Promise<void> {
  const isDone = (change: ProjectChange) => change.conflict === null && change.refused === null && !isHeld(change);
  await writeOut(invocation, report.changes.filter(isDone).map(changeLine).join(""));
  for (const change of report.changes.filter((one) => !isDone(one))) {
    await writeErr(invocation, `agentkernel: not applied: ${changeLine(change)}`);
  }
  if (report.held > 0) {
    const which = `agentkernel diff ${escapeText(name)} --patch PATH shows one`;
    const yes = `agentkernel apply ${escapeText(name)} --yes-to PATH applies it`;
    const waits = report.held === 1 ? "waits" : "wait";
    const why = "it steers what you run later";
    await writeErr(
      invocation,
      `agentkernel: ${count(report.held, "change")} ${waits} for a review (${why}); ${which}, ${yes}\n`,
    );
  }
  if (report.conflicts > 0) {
    const which = `agentkernel diff ${escapeText(name)} --patch PATH shows one`;
    const force = `agentkernel apply ${escapeText(name)} --force PATH takes the sandbox's version`;
    await writeErr(invocation, `agentkernel: ${count(report.conflicts, "conflict")}; ${which}, ${force}\n`);
  }
  if (isRehearsal) await writeErr(invocation, `agentkernel: ${count(report.applied, "change")} would be applied\n`);
}

/** Of a report: those with a yes were applied, and do not wait any more. */
const isHeld = ({ review }: ProjectChange) => review;

async function wantsHeld(invocation: Invocation, { held }: ApplyReport): Promise<boolean> {
  const { confirm } = await import("../agents/confirm.js");
  return await confirm(invocation, `apply ${held === 1 ? "it" : `these ${held}`} too?`);
}

function count(amount: number, noun: string): string {
  return `${amount} ${noun}${amount === 1 ? "" : "s"}`;
}

function shownReport(name: string, report: ApplyReport, isRehearsal: boolean): object {
  const { changes, projectDir, applied, conflicts, refused, held, omitted, unmatched } = report;
  const data = {
    name,
    project: projectDir,
    dry_run: isRehearsal,
    applied,
    conflicts,
    refused,
    held,
    changes: changes.map(shownChange),
    omitted,
    unmatched,
  };
  return { success: conflicts === 0, data };
}
