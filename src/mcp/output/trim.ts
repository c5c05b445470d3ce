/** Long output is cut in the middle: how it began and how it ended is what a reader needs most. */

interface Trimmed {
  readonly text: string;
  readonly cutBytes: number;
}

/** `note` says what was cut, and how to read it; it comes in the place of what is missing. */
export function trimMiddle(bytes: Buffer, maxBytes: number, note: (cutBytes: number) => string): Trimmed {
  if (bytes.length <= maxBytes) return { text: bytes.toString("utf8"), cutBytes: 0 };
  const half = Math.floor(maxBytes / 2);
  const head = headEnd(bytes, half);
  const tail = tailStart(bytes, bytes.length - half);
  const cutBytes = tail - head;
  const [before, after] = [bytes.subarray(0, head), bytes.subarray(tail)];
  return { text: `${before.toString("utf8")}\n… ${note(cutBytes)} …\n${after.toString("utf8")}`, cutBytes };
}

const NEWLINE = 0x0a;
/** How far from the middle a whole line is looked for. */
const LINE_BYTES = 512;

/** After a line where one ends nearby, else between two characters. */
function headEnd(bytes: Buffer, at: number): number {
  const line = bytes.lastIndexOf(NEWLINE, at - 1);
  if (line >= at - LINE_BYTES && line > 0) return line + 1;
  return characterStart(bytes, at, -1);
}

function tailStart(bytes: Buffer, at: number): number {
  const line = bytes.indexOf(NEWLINE, at);
  if (line >= 0 && line < at + LINE_BYTES && line + 1 < bytes.length) return line + 1;
  return characterStart(bytes, at, 1);
}

function characterStart(bytes: Buffer, from: number, step: -1 | 1): number {
  let at = from;
  // A character of UTF-8 has at most three bytes that continue it.
  for (let moved = 0; moved < 3 && ((bytes[at] ?? 0) & 0xc0) === 0x80; moved++) at += step;
  return at;
}
