/** `info`: everything about one sandbox that stays. */

import type { Invocation } from "../../invocation/index.js";
import { wordsOf } from "../images/words.js";
import type { ParsedOptions } from "../option-spec.js";
import { writeJson, writeOut } from "../output.js";
import { infoText } from "../sandboxes/info-text.js";
import { sandboxOf } from "../sandboxes/residents.js";
import { shownInfo } from "../sandboxes/shown.js";

export async function execute(parsed: ParsedOptions, invocation: Invocation): Promise<number> {
  const [name = ""] = wordsOf(parsed, "info", "the name of a sandbox", 1, 1);
  const info = await sandboxOf(invocation, name).info();
  if (parsed.flags.has("json")) return await writeJson(invocation, { success: true, data: shownInfo(info) });
  return await writeOut(invocation, infoText(info, Date.now()));
}
