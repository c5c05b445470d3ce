/**
 * The program's end of the wall: lines of JSON on the stream that the guest opened for its command. Everything that
 * comes is hostile. A line is bounded, as many calls are at work as may be, and while they are no more is read, so a
 * flood waits in the sandbox. What breaks the form ends the stream, and with it nothing but this program's calls.
 */
import type { Duplex } from "node:stream";
import { messageLines } from "../../mcp/stdio/message-lines.js";
import type { CallOutcome, Refusal } from "./run-calls.js";

type Caller = (server: string, tool: string, args: object, bytes: number) => Promise<CallOutcome>;

interface ChannelLimits {
  readonly argumentBytes: number;
  readonly atOnce: number;
}

/** Beside the arguments a line has names and a number. */
const ENVELOPE_BYTES = 1024;

interface CallLine {
  readonly id: number;
  readonly server: string;
  readonly tool: string;
  readonly args: object;
}

/** Resolves when the program makes no more calls. Rejects with what is a fault of ours, never with the program's. */
export async function answerCalls(stream: Duplex, call: Caller, limits: ChannelLimits): Promise<void> {
  // A program that is gone takes no answers.
  stream.on("error", () => {});
  const atWork = new Set<Promise<void>>();
  let fault: unknown = null;
  const mostBytes = limits.argumentBytes + ENVELOPE_BYTES;
  try {
    // A program that has asked its last still hears the answers.
    for await (const line of messageLines(stream.iterator({ destroyOnReturn: false }), mostBytes)) {
      const asked = "bytes" in line ? parseCall(line.bytes.toString("utf8")) : null;
      const length = "bytes" in line ? line.bytes.length : 0;
      if (asked === null) {
        const why = "bytes" in line ? "a call that cannot be understood" : `a call of more than ${mostBytes} bytes`;
        await write(stream, line0({ code: "invalid", message: `${why}; no more calls are taken` }));
        stream.destroy();
        break;
      }
      const work = call(asked.server, asked.tool, asked.args, length)
        .then((answer) => write(stream, lineOf(asked.id, answer)))
        .catch((error: unknown) => {
          fault ??= error;
          stream.destroy();
        })
        .finally(() => atWork.delete(work));
      atWork.add(work);
      if (atWork.size >= limits.atOnce) await Promise.race(atWork);
    }
  } catch (error) {
    // The stream was cut off: by the program's end, or by ours, which `fault` tells.
    if (!stream.destroyed) throw error;
  }
  await Promise.all(atWork);
  if (!stream.destroyed) stream.end();
  if (fault !== null) throw fault;
}

function parseCall(text: string): CallLine | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof value !== "object" || value === null) return null;
  const { id, server, tool, args } = value as Readonly<Record<string, unknown>>;
  if (typeof id !== "number" || !Number.isSafeInteger(id) || id < 1) return null;
  if (typeof server !== "string" || typeof tool !== "string" || server.length > 200 || tool.length > 200) return null;
  if (typeof args !== "object" || args === null || Array.isArray(args)) return null;
  return { id, server, tool, args };
}

function lineOf(id: number, answer: CallOutcome): string {
  return "json" in answer
    ? `{"id":${id},"value":${answer.json}}\n`
    : `${JSON.stringify({ id, error: answer.error })}\n`;
}

/** Is about all calls. */
function line0(error: Refusal): string {
  return `${JSON.stringify({ id: 0, error })}\n`;
}

/** Resolves when the program, or the way to it, has taken it. */
function write(stream: Duplex, line: string): Promise<void> {
  if (stream.destroyed || stream.writableEnded) return Promise.resolve();
  return new Promise((resolve) => {
    const done = () => {
      stream.off("close", done);
      resolve();
    };
    stream.once("close", done);
    stream.write(line, () => done());
  });
}
