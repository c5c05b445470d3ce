/** A line beside the result, on stderr. */
import { escapeText } from "../../core/escape.js";
import { writeErr } from "../output.js";

export async function remark(text: string): Promise<void> {
  await writeErr(`agentkernel: ${escapeText(text)}\n`);
}
