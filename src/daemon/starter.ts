/**
 * Between a daemon in the background and the process that starts it: one line of JSON on the daemon's stdout says that it
 * listens, or why it does not. This is the daemon's end; the other one is in background.ts.
 */
import { writeSync } from "node:fs";
import { isAgentKernelError } from "../core/errors.js";
import type { HostEnvironment } from "../core/state-folders.js";

export const STARTER_VARIABLE = "AGENTKERNEL_STARTER";

/** A message of the daemon; `code` is that of an error of ours. */
export type StartWord =
  | { readonly ready: true }
  | { readonly ready: false; readonly code: string; readonly message: string; readonly hint: string | null };

export function isInBackground(env: HostEnvironment): boolean {
  return env[STARTER_VARIABLE] === "1";
}

/** Runs a daemon in the background: a start that fails is told to the starter. */
export async function answeringStarter(work: (sayReady: () => void) => Promise<void>): Promise<void> {
  let isReady = false;
  try {
    await work(() => {
      isReady = true;
      say({ ready: true });
    });
  } catch (error) {
    if (!isReady) say(refusal(error));
    throw error;
  }
}

function refusal(error: unknown): StartWord {
  if (isAgentKernelError(error)) {
    return { ready: false, code: error.code, message: error.message, hint: error.hint ?? null };
  }
  const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { ready: false, code: "internal", message, hint: null };
}

function say(word: StartWord): void {
  try {
    writeSync(1, `${JSON.stringify(word)}\n`);
  } catch (error) {
    // Whoever started it is gone; the daemon is not less of one.
    if (!(error instanceof Error && "code" in error && error.code === "EPIPE")) throw error;
  }
}
