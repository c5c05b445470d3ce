/** `policy explain`: the policy that run's options make, and the input that set each field. */

import { escapeText } from "../../core/escape.js";
import { explain, explainText } from "../../policy/explain.js";
import { withAgentInside } from "../../request/agent-inside.js";
import { readConfiguration } from "../../request/configuration.js";
import { policyNotes } from "../../request/policy-notes.js";
import { preparePolicy, wantedImage } from "../../request/prepare-run.js";
import { inProject } from "../invocation/in-project.js";
import type { Invocation } from "../invocation/index.js";
import type { ParsedOptions } from "../option-spec.js";
import { writeErr, writeJson, writeOut } from "../output.js";

export async function execute(parsed: ParsedOptions, caller: Invocation): Promise<number> {
  const invocation = inProject(parsed, caller);
  const wishes = withAgentInside(parsed, invocation);
  const configuration = await readConfiguration(wishes, invocation);
  const resolved = preparePolicy(wishes, invocation, configuration);
  const image = wantedImage(wishes, invocation, configuration);
  const rows = [{ field: "image" as const, value: image.name, origin: image.why }, ...explain(resolved)];
  if (parsed.flags.has("json")) return await writeJson(invocation, { success: true, data: rows });
  const notes = [...configuration.notes, ...policyNotes(resolved)];
  for (const note of notes) await writeErr(invocation, `agentkernel: ${escapeText(note)}\n`);
  return await writeOut(invocation, explainText(rows, escapeText));
}
