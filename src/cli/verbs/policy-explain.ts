/** `policy explain`: the policy that run's options make, and the input that set each field. */

import { escapeText } from "../../core/escape.js";
import type { Policy } from "../../core/policy.js";
import { findHidden } from "../../guest/hidden-content.js";
import type { Invocation } from "../../invocation/index.js";
import { type ExplainRow, explain, explainText } from "../../policy/explain.js";
import { withAgentInside } from "../../request/agent-inside.js";
import { readConfiguration } from "../../request/configuration.js";
import { policyNotes } from "../../request/policy-notes.js";
import { preparePolicy, wantedImage } from "../../request/prepare-run.js";
import { inProject } from "../invocation/in-project.js";
import type { ParsedOptions } from "../option-spec.js";
import { writeErr, writeJson, writeOut } from "../output.js";
import { runSpecOf } from "../run-spec.js";

export async function execute(parsed: ParsedOptions, caller: Invocation): Promise<number> {
  const invocation = inProject(parsed, caller);
  const spec = withAgentInside(runSpecOf(parsed, invocation), invocation);
  const configuration = await readConfiguration(spec.files, invocation);
  const resolved = preparePolicy(spec, invocation, configuration);
  const image = wantedImage(spec, invocation, configuration);
  const rows = [
    { field: "image" as const, value: image.name, origin: image.why },
    ...explain(resolved),
    ...(await hiddenRows(resolved.policy, invocation.cwd)),
  ];
  if (parsed.flags.has("json")) return await writeJson(invocation, { success: true, data: rows });
  const notes = [...configuration.notes, ...policyNotes(resolved)];
  for (const note of notes) await writeErr(invocation, `agentkernel: ${escapeText(note)}\n`);
  return await writeOut(invocation, explainText(rows, escapeText));
}

/** What the rules hide of this project as it is now. */
async function hiddenRows({ fs }: Policy, folder: string): Promise<readonly ExplainRow[]> {
  if (fs.workspace.mode === "none") return [];
  const { hidden, omitted } = await findHidden(folder, fs.deny);
  if (hidden.length === 0) return [];
  const more = omitted > 0 ? `, and ${omitted} more` : "";
  return [{ field: "hidden", value: hidden, origin: `fs.deny in ${folder}${more}; show one with --show PATH` }];
}
