/** `audit tail`: the last records and, with `--follow`, those that come. */
import { follow } from "../../audit/follow.js";
import { matches, query } from "../../audit/query.js";
import type { AuditRecord } from "../../audit/reader.js";
import { summary } from "../../audit/summary.js";
import { escapeText } from "../../core/escape.js";
import type { Invocation } from "../../invocation/index.js";
import { auditFilter, openAuditFolder, recordJson, wholeNumber } from "../audit-options.js";
import type { ParsedOptions } from "../option-spec.js";
import { writeOut } from "../output.js";

const USUAL_LINES = 10;

export async function execute(parsed: ParsedOptions, invocation: Invocation): Promise<number> {
  const folder = await openAuditFolder(parsed, invocation);
  const filter = auditFilter(parsed, Date.now());
  const render = parsed.flags.has("json") ? recordJson : (record: AuditRecord) => escapeText(summary(record));
  // What comes after the newest line of all, shown or not, is new.
  const newest = (await query(folder, {}, 1)).records[0]?.seq ?? 0;
  const { records } = await query(folder, filter, wholeNumber(parsed, "lines", USUAL_LINES));
  await writeOut(invocation, records.map((record) => `${render(record)}\n`).join(""));
  if (!parsed.flags.has("follow")) return 0;
  const shown = Math.max(newest, records.at(-1)?.seq ?? 0);
  const abort = new AbortController();
  // A reader that has gone away ends this; everything else is a signal's business.
  invocation.stdout.onClosed(() => abort.abort());
  for await (const record of follow(folder, abort.signal, shown)) {
    if (matches(record, filter)) await writeOut(invocation, `${render(record)}\n`);
  }
  return 0;
}
