/** `keys list`: the keys there are, and what each may do. */
import { escapeText } from "../../core/escape.js";
import type { Invocation } from "../invocation/index.js";
import { keyAnswer, keyLine, keyStore } from "../key-answers.js";
import type { ParsedOptions } from "../option-spec.js";
import { writeJson, writeOut } from "../output.js";

export async function execute(parsed: ParsedOptions, invocation: Invocation): Promise<number> {
  const keys = keyStore(invocation).list();
  if (parsed.flags.has("json")) return await writeJson(invocation, { success: true, data: keys.map(keyAnswer) });
  const nowMs = Date.now();
  return await writeOut(invocation, keys.map((key) => `${escapeText(keyLine(key, nowMs))}\n`).join(""));
}
