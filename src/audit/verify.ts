/**
 * Whether the log is as it was written: every line, their order, and its end against the head. What this can say is
 * that the files agree with each other. Whoever may write all of them can make a log that does; a hash that was noted
 * elsewhere earlier (`expect`) is what such a log cannot have.
 */
import { Chain, type Problem } from "./chain.js";
import type { Head } from "./head.js";
import { decodeLine } from "./line.js";
import { closedLength, firstLine, logFileName, logFileNumbers } from "./log-files.js";
import { rawLines } from "./reader.js";
import { peekHead } from "./turn.js";

export interface Verdict {
  readonly isWhole: boolean;
  readonly files: number;
  readonly lines: number;
  /** The last line: noted elsewhere, it proves later that everything up to it is still there. */
  readonly head: { readonly seq: number; readonly hash: string } | null;
  readonly problems: readonly Problem[];
  readonly omittedProblems: number;
  /** Half a line at the end: a writer is at work, or died. The next one heals it. */
  readonly torn: { readonly file: string; readonly line: number } | null;
  /** Parts that were healed before, or whose loss is on record. */
  readonly notes: readonly string[];
}

/** `beginnings`: when logs were begun in this folder, as far as that is noted elsewhere. */
export async function verify(
  folder: string,
  expectedHash: string | null = null,
  beginnings: readonly string[] = [],
): Promise<Verdict> {
  // Read first: whatever is written meanwhile comes after it.
  const { head } = peekHead(folder);
  const files = logFileNumbers(folder);
  const chain = new Chain(head === null ? [] : [head.seq], expectedHash);
  const notes: string[] = [];
  const pruned = await startOf(folder, files, chain);
  const late: LateLine[] = [];
  const passedOver = new Set<unknown>();
  let torn: Verdict["torn"] = null;
  let before: number | null = null;
  for (const file of files) {
    const name = logFileName(file);
    if (before !== null && file !== before + 1) {
      chain.problem("missing", { file: name, line: null }, `no file is there between ${logFileName(before)} and this`);
    }
    before = file;
    const closedAt = closedLength(folder, file);
    let start = 0;
    for await (const line of rawLines(folder, file)) {
      const at = { file: name, line: line.number };
      const isLate = start >= closedAt;
      start = line.endOffset;
      if (isLate) {
        late.push({ at, writer: decodeLine(line.text).line?.writer ?? null });
        continue;
      }
      if (!line.isWhole) {
        if (file === files.at(-1)) torn = at;
        else chain.problem("added", at, "half a line stands at the end of a file that is closed");
        continue;
      }
      const type = chain.take(line.text, at);
      if (type === "audit.recovered") noteRecovery(line.text, at, chain, passedOver);
      if (type === "audit.torn") notes.push(`${name}:${line.number}: half a line was cut off here by the next writer`);
    }
  }
  notes.push(...judgeLate(late, passedOver, chain));
  if (pruned !== null) notes.push(`lines up to number ${pruned} were removed for their age, which is on record`);
  compareHead(folder, head, chain, files.length);
  if (files.length === 0 && beginnings.length > 0) {
    const message = `the log is gone: one was begun here at ${beginnings.at(-1)}`;
    chain.problem("missing", { file: null, line: null }, message);
  }
  if (!chain.hasSeenExpected) {
    const message = `no line has the hash ${expectedHash}: what was there when it was noted is not there now`;
    chain.problem("missing", { file: null, line: null }, message);
  }
  const problems = chain.problems();
  return {
    isWhole: problems.length === 0,
    files: files.length,
    lines: chain.lines,
    head: chain.lines === 0 ? null : { seq: chain.seq, hash: chain.hash },
    problems,
    omittedProblems: chain.omitted,
    torn,
    notes,
  };
}

/** A log that does not begin with line 1 needs a later line that says what went before, and why. */
async function startOf(folder: string, files: readonly number[], chain: Chain): Promise<number | null> {
  const [first] = files;
  const line = first === undefined ? null : firstLine(folder, first);
  if (line === null || line.seq === 1) return null;
  for (const file of files) {
    for await (const { text, isWhole } of rawLines(folder, file)) {
      if (!isWhole || !text.includes('"type":"audit.pruned"')) continue;
      const last: unknown = decodeLine(text).line?.fields.last;
      if (typeof last !== "object" || last === null || !("seq" in last) || !("hash" in last)) continue;
      if (last.seq === line.seq - 1 && last.hash === line.prev) {
        chain.startAfter(line.seq - 1, line.prev);
        return line.seq - 1;
      }
    }
  }
  return null;
}

interface LateLine {
  readonly at: { readonly file: string; readonly line: number };
  /** Null for a line that is not as it was written. */
  readonly writer: string | null;
}

/** A writer that was passed over may have finished its line, which it then wrote once more where it counts. */
function judgeLate(late: readonly LateLine[], passedOver: ReadonlySet<unknown>, chain: Chain): readonly string[] {
  const notes: string[] = [];
  for (const { at, writer } of late) {
    if (writer !== null && passedOver.has(writer)) {
      notes.push(`${at.file}:${at.line}: written late by a process that had been stopped; it does not count`);
    } else chain.problem("added", at, "this line was added after the file had been closed");
  }
  return notes;
}

/** Without a head nobody can say how far the log went. That it was gone once is known for as long as the log is. */
function noteRecovery(text: string, at: LateLine["at"], chain: Chain, passedOver: Set<unknown>): void {
  const fields = decodeLine(text).line?.fields ?? {};
  passedOver.add(fields.holder);
  const reason = typeof fields.reason === "string" ? fields.reason : "unknown";
  if (!reason.includes("head")) return;
  chain.problem("head", at, "the record of where the log ends was lost before this line: lines may be missing here");
}

function compareHead(folder: string, head: Head | null, chain: Chain, fileCount: number): void {
  const nowhere = { file: null, line: null } as const;
  if (head === null) {
    if (fileCount > 0) chain.problem("head", nowhere, "the record of where the log ends is missing or damaged");
    return;
  }
  const place = { file: logFileName(head.file), line: null };
  if (head.seq > chain.seq) {
    const count = head.seq - chain.seq;
    chain.problem("cut", place, `the log ends after line number ${chain.seq}; ${count} more had been written`);
    return;
  }
  const found = chain.hashes.get(head.seq);
  if (head.seq > 0 && found !== undefined && found !== head.hash) {
    chain.problem("edited", place, `line number ${head.seq} is not the one that was written last`);
  }
  const now = peekHead(folder);
  if (now.isFree && now.head !== null && now.head.seq < chain.seq) {
    chain.problem("added", place, `lines follow after number ${now.head.seq}, which was written last`);
  }
}
