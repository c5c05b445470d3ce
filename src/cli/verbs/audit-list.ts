/** `audit list`: the newest records that match, oldest first. */
import { query } from "../../audit/query.js";
import { summary } from "../../audit/summary.js";
import { escapeText } from "../../core/escape.js";
import type { Invocation } from "../../invocation/index.js";
import { auditFilter, openAuditFolder, recordJson, wholeNumber } from "../audit-options.js";
import type { ParsedOptions } from "../option-spec.js";
import { writeErr, writeOut } from "../output.js";

const USUAL_LIMIT = 100;

export async function execute(parsed: ParsedOptions, invocation: Invocation): Promise<number> {
  const filter = auditFilter(parsed, Date.now());
  const found = await query(
    await openAuditFolder(parsed, invocation),
    filter,
    wholeNumber(parsed, "limit", USUAL_LIMIT),
  );
  if (found.unreadable > 0) {
    await writeErr(
      invocation,
      `agentkernel: ${found.unreadable} lines cannot be read; agentkernel audit verify says which\n`,
    );
  }
  if (parsed.flags.has("json")) {
    return await writeOut(invocation, `{"success":true,"data":[${found.records.map(recordJson).join(",")}]}\n`);
  }
  return await writeOut(invocation, found.records.map((record) => `${escapeText(summary(record))}\n`).join(""));
}
