/** The first moments of a connection on streams: whoever says `initialize` is answered before anything else is loaded. */
import type { Readable } from "node:stream";
import { greet } from "../greeting.js";
import type { LineOutput } from "./line-transport.js";
import { type MessageLine, messageLines, parseLine } from "./message-lines.js";

export interface Opening {
  readonly lines: AsyncGenerator<MessageLine, void>;
  readonly first: MessageLine | null;
  /** The id of `initialize`, which has its answer; null where something else came first. */
  readonly answered: string | number | null;
}

/** Null where the client left without a word. */
export async function openLines(input: Readable, output: LineOutput, instructions: string): Promise<Opening | null> {
  const lines = messageLines(input);
  const { value, done } = await lines.next();
  if (done === true || value === undefined) return null;
  const parsed = parseLine(value);
  const message = parsed !== null && "message" in parsed ? parsed.message : null;
  const answer = greet(message, instructions);
  if (answer === null || message === null) return { lines, first: value, answered: null };
  output.write(Buffer.from(`${JSON.stringify(answer)}\n`), () => {});
  return { lines, first: value, answered: message.id as string | number };
}
