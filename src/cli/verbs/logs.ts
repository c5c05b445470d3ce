/** `logs`: the output of a detached command, on the streams that it was written to. */
import { AgentKernelError } from "../../core/errors.js";
import type { Invocation } from "../../invocation/index.js";
import { parseCount } from "../../policy/resources.js";
import type { LogPiece, Sandbox } from "../../runtime/sandboxes/index.js";
import { wordsOf } from "../images/words.js";
import type { ParsedOptions } from "../option-spec.js";
import { writeErr, writeJson } from "../output.js";
import { EndingSignals } from "../run/signals.js";
import { LogOutput } from "../sandboxes/log-output.js";
import { sandboxOf } from "../sandboxes/residents.js";

export async function execute(parsed: ParsedOptions, invocation: Invocation): Promise<number> {
  const [name = "", wanted] = wordsOf(parsed, "logs", "the name of a sandbox, and the id of a command", 1, 2);
  const sandbox = sandboxOf(invocation, name);
  const id = wanted ?? lastDetached(sandbox);
  const abort = new AbortController();
  const signals = new EndingSignals(invocation.signals, () => abort.abort());
  const stop = () => abort.abort();
  invocation.gone?.onGone(stop);
  invocation.stdout.onClosed(stop);
  try {
    const pieces = sandbox.logs(id, {
      follow: parsed.flags.has("follow"),
      tailLines: tailOf(parsed),
      signal: abort.signal,
    });
    if (parsed.flags.has("json")) await printJson(pieces, invocation);
    else await print(pieces, invocation, abort.signal);
    return signals.first === null ? 0 : 128 + signals.first;
  } finally {
    signals.stop();
  }
}

function tailOf({ values }: ParsedOptions): number | undefined {
  const text = values.get("tail")?.[0];
  return text === undefined || text === "all" ? undefined : parseCount("--tail", text, tailRange);
}

const MOST_LINES = 1_000_000;
const tailRange = { min: 0, max: MOST_LINES, whole: true, text: `0 to ${MOST_LINES}`, example: "100" };

function lastDetached(sandbox: Sandbox): string {
  const last = sandbox.execs().findLast(({ detached, state }) => detached && state !== "failed");
  if (last !== undefined) return last.id;
  throw new AgentKernelError("not_found", `no output of a command in ${sandbox.name} was kept`, {
    hint: "agentkernel exec --detach runs one whose output is",
  });
}

async function print(pieces: AsyncGenerator<LogPiece>, invocation: Invocation, signal: AbortSignal): Promise<void> {
  const output = new LogOutput(invocation, signal);
  try {
    for await (const piece of pieces) {
      if ("bytes" in piece) await output.write(piece.stream, piece.bytes);
      else await writeErr(invocation, `agentkernel: ${piece.lostBytes} bytes of output are not kept any more\n`);
    }
    await output.end();
  } finally {
    output.close();
  }
}

async function printJson(pieces: AsyncGenerator<LogPiece>, invocation: Invocation): Promise<void> {
  for await (const piece of pieces) {
    const shown =
      "bytes" in piece
        ? { stream: piece.stream === 1 ? "stdout" : "stderr", text: piece.bytes.toString("utf8") }
        : { lost_bytes: piece.lostBytes };
    await writeJson(invocation, shown);
  }
}
