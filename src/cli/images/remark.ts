/** A line beside the result, on stderr. */
import { escapeText } from "../../core/escape.js";
import { type Printer, writeErr } from "../output.js";

export async function remark(printer: Printer, text: string): Promise<void> {
  await writeErr(printer, `agentkernel: ${escapeText(text)}\n`);
}
