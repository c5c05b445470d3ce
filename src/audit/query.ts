/** Which records of the log somebody wants to see, newest files first so that a short answer is a quick one. */
import { closedLength, logFileNumbers } from "./log-files.js";
import { type AuditRecord, asRecord, rawLines } from "./reader.js";

export interface AuditFilter {
  /** The whole id, or its beginning. */
  readonly sandbox?: string;
  /** A type (`exec.start`) or a family of them (`exec`). */
  readonly types?: readonly string[];
  readonly sinceMs?: number;
  readonly untilMs?: number;
  readonly deniedOnly?: boolean;
}

export function matches(record: AuditRecord, filter: AuditFilter): boolean {
  const { sandbox, types, sinceMs, untilMs, deniedOnly } = filter;
  if (sandbox !== undefined && record.sandbox?.startsWith(sandbox) !== true) return false;
  if (types !== undefined && !types.some((type) => record.type === type || record.type.startsWith(`${type}.`))) {
    return false;
  }
  if (deniedOnly === true && !record.isDenied) return false;
  const atMs = Date.parse(record.time);
  return !(sinceMs !== undefined && atMs < sinceMs) && !(untilMs !== undefined && atMs > untilMs);
}

interface Found {
  /** Oldest first. */
  readonly records: readonly AuditRecord[];
  /** Lines that could not be read; `verify` says more. */
  readonly unreadable: number;
}

/** The newest `most` records that match. */
export async function query(folder: string, filter: AuditFilter, most: number): Promise<Found> {
  const batches: AuditRecord[][] = [];
  let left = most;
  let unreadable = 0;
  for (const file of logFileNumbers(folder).toReversed()) {
    if (left <= 0) break;
    const found: AuditRecord[] = [];
    let newestMs = 0;
    const closedAt = closedLength(folder, file);
    for await (const line of rawLines(folder, file)) {
      // What was written too late was written again where it counts.
      if (line.endOffset > closedAt) break;
      if (!line.isWhole) continue;
      const record = asRecord(line.text);
      if (record === null) {
        unreadable++;
        continue;
      }
      newestMs = Math.max(newestMs, Date.parse(record.time) || 0);
      if (!matches(record, filter)) continue;
      found.push(record);
      if (found.length > left * 2) found.splice(0, found.length - left);
    }
    batches.push(found.slice(-left));
    left -= Math.min(left, found.length);
    // Lines are in order but for the moments that they waited to be written.
    if (filter.sinceMs !== undefined && newestMs < filter.sinceMs - ORDER_SLACK_MS) break;
  }
  return { records: batches.toReversed().flat(), unreadable };
}

const ORDER_SLACK_MS = 60_000;
