/** `policy explain`: the policy that run's options make, and the input that set each field. */

import { escapeText } from "../../core/escape.js";
import { explain, explainText } from "../../policy/explain.js";
import type { ParsedOptions } from "../option-spec.js";
import { writeJson, writeOut } from "../output.js";
import { preparePolicy } from "../prepare-run.js";
import { readSurroundings } from "../surroundings.js";

export async function execute(parsed: ParsedOptions): Promise<number> {
  const rows = explain(preparePolicy(parsed, readSurroundings()));
  if (parsed.flags.has("json")) return await writeJson({ success: true, data: rows });
  return await writeOut(explainText(rows, escapeText));
}
