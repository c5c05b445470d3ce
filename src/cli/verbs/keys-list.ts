/** `keys list`: the keys there are, and what each may do. */
import { escapeText } from "../../core/escape.js";
import type { Invocation } from "../../invocation/index.js";
import { tableText } from "../images/text.js";
import { keyAnswer, keyRow, keyStore } from "../key-answers.js";
import type { ParsedOptions } from "../option-spec.js";
import { writeJson, writeOut } from "../output.js";

export async function execute(parsed: ParsedOptions, invocation: Invocation): Promise<number> {
  const keys = keyStore(invocation).list();
  if (parsed.flags.has("json")) return await writeJson(invocation, { success: true, data: keys.map(keyAnswer) });
  if (keys.length === 0) return await writeOut(invocation, "no keys; agentkernel keys create NAME makes one\n");
  const nowMs = Date.now();
  const head = ["NAME", "ID", "SCOPES", "SANDBOXES", "AT MOST", "EXPIRES"];
  return await writeOut(invocation, tableText([head, ...keys.map((key) => keyRow(key, nowMs).map(escapeText))]));
}
