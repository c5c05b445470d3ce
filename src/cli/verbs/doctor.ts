/** `doctor`: what works on this machine, proven by using it. Status 0 if some backend can run sandboxes. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { errorTable } from "../../core/errors.js";
import { nativeBinary } from "../../core/native-binary.js";
import { examine } from "../../doctor/index.js";
import { renderJson, renderText } from "../../doctor/render.js";
import { findHidden } from "../../guest/hidden-content.js";
import type { Invocation } from "../../invocation/index.js";
import { builtInHideRules } from "../../policy/hidden.js";
import type { ParsedOptions } from "../option-spec.js";
import { writeJson, writeOut } from "../output.js";

export async function execute(parsed: ParsedOptions, invocation: Invocation): Promise<number> {
  const { bootGuest } = await import("../run/boot-guest.js");
  const { surveyAutomatic, surveyBackends } = await import("../../runtime/backends/survey.js");
  const report = await examine({
    probeBinary: nativeBinary("ak-probe"),
    bootGuest: (signal) => bootGuest(invocation, signal),
    proveOthers: () => surveyBackends(invocation),
    chooseOne: () => surveyAutomatic(invocation),
  });
  const project = await committedSecrets(invocation.cwd);
  if (parsed.flags.has("json")) {
    await writeJson(invocation, { success: true, data: { ...renderJson(report), project } });
  } else {
    await writeOut(invocation, renderText(report, { colour: isColourWanted(invocation) }));
    if (project !== null && project.tracked_hidden_files > 0) {
      await writeOut(invocation, `\nThis repository\n${committedText(project.tracked_hidden_files)}\n`);
    }
  }
  return report.ok ? 0 : errorTable.backend_unavailable.exit;
}

/** How many hidden files the repository in a directory tracks: git's objects have these. Null where there is none. */
async function committedSecrets(directory: string): Promise<{ readonly tracked_hidden_files: number } | null> {
  if (!existsSync(join(directory, ".git"))) return null;
  const { tracked } = await findHidden(directory, builtInHideRules);
  return { tracked_hidden_files: tracked };
}

function committedText(count: number): string {
  const files = count === 1 ? "1 file that sandboxes do not see is" : `${count} files that sandboxes do not see are`;
  return (
    `! ${files} tracked by git. A committed secret can be read inside, in git's objects: git show HEAD:PATH.\n` +
    "  next step: change these secrets, and stop tracking the files (git rm --cached); agentkernel policy explain lists them"
  );
}

/** Only for a person at a terminal who has not said otherwise. */
function isColourWanted({ env, stdout }: Invocation): boolean {
  const { NO_COLOR, TERM } = env;
  return stdout.isTerminal && (NO_COLOR === undefined || NO_COLOR === "") && TERM !== "dumb";
}
