/** `policy explain`: the policy that run's options make, and the input that set each field. */

import { escapeText } from "../../core/escape.js";
import { explain, explainText } from "../../policy/explain.js";
import type { ParsedOptions } from "../option-spec.js";
import { writeJson, writeOut } from "../output.js";
import { preparePolicy, wantedImage } from "../prepare-run.js";
import { readSurroundings } from "../surroundings.js";

export async function execute(parsed: ParsedOptions): Promise<number> {
  const surroundings = readSurroundings();
  const image = wantedImage(parsed, surroundings);
  const rows = [
    { field: "image" as const, value: image.name, origin: image.why },
    ...explain(preparePolicy(parsed, surroundings)),
  ];
  if (parsed.flags.has("json")) return await writeJson({ success: true, data: rows });
  return await writeOut(explainText(rows, escapeText));
}
