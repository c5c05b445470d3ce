/**
 * `mcp server`: the protocol on stdin and stdout. A daemon serves it where one is up; where none is, one is started,
 * while the client has the answer to its first message already. Without any daemon it is served here, and only
 * sandboxes that stay are lacking.
 */
import { constants } from "node:os";
import { escapeText } from "../../core/escape.js";
import type { Invocation } from "../../invocation/index.js";
import { codeInstructions, sandboxInstructions } from "../../mcp/greeting.js";
import type { LineOutput } from "../../mcp/stdio/line-transport.js";
import { type Opening, openLines } from "../../mcp/stdio/opening.js";
import { type CodeModeRequest, codeModeOf } from "../code-mode.js";
import { readServerDefaults, type ServerDefaults } from "../mcp-server-defaults.js";
import type { ParsedOptions } from "../option-spec.js";
import { writeErr } from "../output.js";

export async function execute(parsed: ParsedOptions, invocation: Invocation): Promise<number> {
  const said = await readServerDefaults(parsed, invocation);
  const code = await codeModeOf(parsed, invocation);
  const instructions = instructionsFor(code);
  const gone = new AbortController();
  const leave = () => gone.abort();
  const input = invocation.stdin.open();
  if (input === null) return 0;
  const stdout = invocation.stdout.open(leave);
  let signal = 0;
  const stopListening = invocation.signals.onEnding((name) => {
    signal = constants.signals[name];
    leave();
  });
  invocation.gone?.onGone(leave);
  gone.signal.addEventListener("abort", () => input.destroy(), { once: true });
  try {
    const opening = await openLines(input, stdout.sink, instructions).catch((error: unknown) => {
      if (gone.signal.aborted) return null;
      throw error;
    });
    if (opening !== null) await serve(opening, stdout.sink, gone.signal, { invocation, said, code, instructions });
    return signal === 0 ? 0 : 128 + signal;
  } finally {
    stopListening();
    input.destroy();
    stdout.abandon();
  }
}

function instructionsFor(code: CodeModeRequest | null): string {
  if (code === null) return sandboxInstructions;
  return code.isAlone ? codeInstructions : `${sandboxInstructions}\n${codeInstructions}`;
}

interface Served {
  readonly invocation: Invocation;
  readonly said: ServerDefaults;
  readonly code: CodeModeRequest | null;
  readonly instructions: string;
}

async function serve(opening: Opening, output: LineOutput, gone: AbortSignal, served: Served): Promise<void> {
  const { invocation, said, code } = served;
  const mayRelay = invocation.resident === null && invocation.env.AGENTKERNEL_DAEMON !== "off";
  if (mayRelay && opening.answered !== null) {
    const { mcpThroughDaemon } = await import("../../daemon/mcp-through-daemon.js");
    const words = [...said.words, ...(code?.words ?? [])];
    if (await mcpThroughDaemon(opening, output, gone, invocation, words)) return;
  }
  const { serveHere } = await import("../mcp-here.js");
  await serveHere(opening, output, gone, served, (error) => {
    const words = error instanceof Error ? (error.stack ?? error.message) : String(error);
    void writeErr(invocation, `agentkernel: a fault of its own: ${escapeText(words)}\n`);
  });
}
