/** `doctor`: what works on this machine, proven by using it. Status 0 if some backend can run sandboxes. */
import { errorTable } from "../../core/errors.js";
import { nativeBinary } from "../../core/native-binary.js";
import { examine } from "../../doctor/index.js";
import { renderJson, renderText } from "../../doctor/render.js";
import type { ParsedOptions } from "../option-spec.js";
import { writeJson, writeOut } from "../output.js";

export async function execute(parsed: ParsedOptions): Promise<number> {
  const { bootGuest } = await import("../run/boot-guest.js");
  const report = await examine({ probeBinary: nativeBinary("ak-probe"), bootGuest });
  if (parsed.flags.has("json")) await writeJson({ success: true, data: renderJson(report) });
  else await writeOut(renderText(report, { colour: isColourWanted() }));
  return report.ok ? 0 : errorTable.backend_unavailable.exit;
}

/** Only for a person at a terminal who has not said otherwise. */
function isColourWanted(): boolean {
  const { NO_COLOR, TERM } = process.env;
  return process.stdout.isTTY === true && (NO_COLOR === undefined || NO_COLOR === "") && TERM !== "dumb";
}
