/** A client's messages, one a line. A line that is too long is told of and read over: what follows is still understood. */
import { type Parsed, parseMessage, tooLong } from "../message.js";

const MAX_LINE_BYTES = 16 << 20;

export type MessageLine = { readonly bytes: Buffer } | { readonly tooLongBytes: number };

const NEWLINE = 0x0a;

export async function* messageLines(
  input: AsyncIterable<Buffer>,
  maxBytes = MAX_LINE_BYTES,
): AsyncGenerator<MessageLine, void> {
  let parts: Buffer[] = [];
  let length = 0;
  const take = (bytes: Buffer) => {
    length += bytes.length;
    if (length > maxBytes) parts = [];
    else parts.push(bytes);
  };
  const finished = (): MessageLine => {
    const line = length > maxBytes ? { tooLongBytes: length } : { bytes: Buffer.concat(parts) };
    parts = [];
    length = 0;
    return line;
  };
  for await (const chunk of input) {
    let from = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, from)) {
      take(chunk.subarray(from, end));
      from = end + 1;
      yield finished();
    }
    if (from < chunk.length) take(chunk.subarray(from));
  }
  // A last line that was not ended is one that was cut off.
}

/** Null where there was nothing on the line. */
export function parseLine(line: MessageLine): Parsed | null {
  if ("tooLongBytes" in line) return tooLong(line.tooLongBytes);
  const text = line.bytes.toString("utf8").trim();
  return text === "" ? null : parseMessage(text);
}
