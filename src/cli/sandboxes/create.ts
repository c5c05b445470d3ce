/** Makes a sandbox that stays for a command line: with progress of its image, and given up when nobody waits. */
import { escapeText } from "../../core/escape.js";
import type { Invocation } from "../../invocation/index.js";
import type { RunRequest } from "../../runtime/run-request.js";
import type { CreateRequest, Sandbox } from "../../runtime/sandboxes/index.js";
import { writeErr } from "../output.js";
import { imageProgress } from "../run/image-progress.js";
import { EndingSignals } from "../run/signals.js";
import { sandboxesOf } from "./residents.js";

export async function create(
  request: Pick<CreateRequest, "name" | "run" | "ttlMs" | "idleTimeoutMs">,
  invocation: Invocation,
): Promise<Sandbox> {
  const sandboxes = sandboxesOf(invocation);
  const abort = new AbortController();
  const signals = new EndingSignals(invocation.signals, () => abort.abort());
  invocation.gone?.onGone(() => abort.abort());
  const progress = request.run.json ? undefined : imageProgress(invocation.stderr);
  try {
    const watcher = { onProgress: progress?.report, stdin: () => invocation.stdin.open() };
    const sandbox = await sandboxes.create({ ...request, owner: null, signal: abort.signal, watcher });
    progress?.close();
    if (!request.run.json) for (const line of notesOf(request.run, sandbox)) await say(invocation, line);
    return sandbox;
  } finally {
    progress?.close();
    signals.stop();
  }
}

/** What the user should know before anything runs in it. */
function notesOf({ image, notes }: RunRequest, { record }: Sandbox): readonly string[] {
  const isReplaced = record.image.name === "host" && image.name !== "host";
  return [
    ...notes,
    ...(isReplaced ? [`using this machine's own programs (image host): ${record.image.why}`] : []),
    ...(record.backendNotes ?? []),
  ];
}

async function say(invocation: Invocation, line: string): Promise<void> {
  await writeErr(invocation, `agentkernel: ${escapeText(line)}\n`);
}
