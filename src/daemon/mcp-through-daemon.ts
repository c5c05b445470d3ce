/**
 * A connection of the Model Context Protocol, from a process that is no daemon, to one: it is started where none is up.
 * The client has the answer to its first message already, so the daemon's is left out; from then on lines are passed
 * through as they are, both ways.
 */
import type { Readable, Writable } from "node:stream";
import { isAgentKernelError } from "../core/errors.js";
import type { Invocation } from "../invocation/index.js";
import type { LineOutput } from "../mcp/stdio/line-transport.js";
import { messageLines } from "../mcp/stdio/message-lines.js";
import type { Opening } from "../mcp/stdio/opening.js";
import { bringUp } from "./bring-up.js";
import { relay } from "./relay.js";
import { daemonPlace } from "./socket-place.js";

const WORDS = ["mcp", "server"];
const NEWLINE = Buffer.from("\n");

/** Resolves to whether a daemon has served it to its end. Where it has not, nothing of it is lost. */
export async function mcpThroughDaemon(
  opening: Opening,
  output: LineOutput,
  gone: AbortSignal,
  { env, homeDir, stderr }: Pick<Invocation, "env" | "homeDir" | "stderr">,
  options: readonly string[] = [],
): Promise<boolean> {
  const say = async (line: string) => {
    await stderr.write(`agentkernel: ${line}\n`);
  };
  try {
    // The daemon itself knows how long it stays on demand.
    const stay = { onDemand: true, idleTimeoutMs: null };
    await bringUp({ place: daemonPlace(env, homeDir), env, stay, logPath: null, say });
  } catch (error) {
    if (!isAgentKernelError(error)) throw error;
    await say(`no daemon can be started, so sandboxes that stay are not offered: ${error.message}`);
    return false;
  }
  let hasBegun = false;
  const end = await relay([...WORDS, ...options], env, (stdin, stdout) => {
    // Its end tells.
    stdin.on("error", () => {});
    gone.addEventListener("abort", () => stdin.destroy(), { once: true });
    if (opening.first !== null && "bytes" in opening.first) stdin.write(Buffer.concat([opening.first.bytes, NEWLINE]));
    void passAnswers(stdout, output, () => {
      hasBegun = true;
      void passQuestions(opening, stdin);
    });
  });
  if (end.how === "declined") {
    await say(`the daemon does not serve this (${end.reason}), so sandboxes that stay are not offered`);
    return false;
  }
  return hasBegun || gone.aborted;
}

/** The first one is known already; by it we know that somebody listens. */
async function passAnswers(stdout: Readable, output: LineOutput, onFirst: () => void): Promise<void> {
  let isFirst = true;
  for await (const line of messageLines(stdout, Number.POSITIVE_INFINITY)) {
    if (isFirst) {
      isFirst = false;
      onFirst();
    } else if ("bytes" in line) {
      await new Promise<void>((resolve) => output.write(Buffer.concat([line.bytes, NEWLINE]), resolve));
    }
  }
}

async function passQuestions({ lines }: Opening, stdin: Writable): Promise<void> {
  try {
    for await (const line of lines) {
      // One that is too long was read over; whoever sent it hears nothing but that.
      const bytes = "bytes" in line ? Buffer.concat([line.bytes, NEWLINE]) : TOO_LONG;
      if (stdin.destroyed) return;
      if (!stdin.write(bytes))
        await new Promise<void>((resolve) => stdin.once("drain", resolve).once("close", resolve));
    }
  } finally {
    stdin.end();
  }
}

/** Is answered as what it is: a message that cannot be read. */
const TOO_LONG = Buffer.from('{"jsonrpc":"2.0","error":"too long"\n');
