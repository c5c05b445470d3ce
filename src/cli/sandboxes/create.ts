/** Makes a sandbox that stays for a command line: with progress of its image, and given up when nobody waits. */
import type { CreateRequest, Sandbox } from "../../runtime/sandboxes/index.js";
import type { Invocation } from "../invocation/index.js";
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
  invocation.gone?.addEventListener("abort", () => abort.abort(), { once: true });
  const progress = request.run.json ? undefined : imageProgress(invocation.stderr);
  try {
    const watcher = { onProgress: progress?.report, stdin: () => invocation.stdin.open() };
    return await sandboxes.create({ ...request, owner: null, signal: abort.signal, watcher });
  } finally {
    progress?.close();
    signals.stop();
  }
}
