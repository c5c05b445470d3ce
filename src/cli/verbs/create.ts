/** `create`: a sandbox that stays. It is not started. */

import type { Invocation } from "../../invocation/index.js";
import { prepareRun } from "../../request/prepare-run.js";
import { wordsOf } from "../images/words.js";
import { inProject } from "../invocation/in-project.js";
import type { ParsedOptions } from "../option-spec.js";
import { writeJson, writeOut } from "../output.js";
import { runSpecOf } from "../run-spec.js";
import { create } from "../sandboxes/create.js";
import { lifeOf } from "../sandboxes/life-options.js";
import { shownSummary } from "../sandboxes/shown.js";
import { withTrust } from "../trust/ask.js";

export async function execute(parsed: ParsedOptions, invocation: Invocation): Promise<number> {
  const [name = ""] = wordsOf(parsed, "create", "the name of the new sandbox", 1, 1);
  const surroundings = inProject(parsed, invocation);
  const whole = runSpecOf(parsed, surroundings);
  const spec = { ...whole, exec: { ...whole.exec, argv: [] } };
  const request = prepareRun(spec, surroundings, await withTrust(spec, surroundings, invocation));
  const sandbox = await create({ name, run: request, ...lifeOf(parsed) }, invocation);
  if (parsed.flags.has("json"))
    return await writeJson(invocation, { success: true, data: shownSummary(sandbox.summary()) });
  return await writeOut(invocation, `${sandbox.name}\n`);
}
