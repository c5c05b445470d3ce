/** `doctor`: what works on this machine, proven by using it. Status 0 if some backend can run sandboxes. */
import { errorTable } from "../../core/errors.js";
import { nativeBinary } from "../../core/native-binary.js";
import { examine } from "../../doctor/index.js";
import { renderJson, renderText } from "../../doctor/render.js";
import type { Invocation } from "../invocation/index.js";
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
  if (parsed.flags.has("json")) await writeJson(invocation, { success: true, data: renderJson(report) });
  else await writeOut(invocation, renderText(report, { colour: isColourWanted(invocation) }));
  return report.ok ? 0 : errorTable.backend_unavailable.exit;
}

/** Only for a person at a terminal who has not said otherwise. */
function isColourWanted({ env, stdout }: Invocation): boolean {
  const { NO_COLOR, TERM } = env;
  return stdout.isTerminal && (NO_COLOR === undefined || NO_COLOR === "") && TERM !== "dumb";
}
