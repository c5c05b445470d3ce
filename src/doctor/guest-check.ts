/** The last proof: a real sandbox, booted with a deadline. */
import { isAgentKernelError } from "../core/errors.js";
import type { Check } from "./report.js";

/** Boots a sandbox, runs a command that does nothing, ends it. Gives up when the signal fires. */
export type BootGuest = (signal: AbortSignal) => Promise<{ readonly ms: number }>;

const NEXT_STEP = "Run `agentkernel run true` to see the whole error.";

export async function checkGuest(bootGuest: BootGuest, deadlineMs: number): Promise<Check> {
  const abort = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<Check>((resolve) => {
    timer = setTimeout(() => {
      resolve(fails(`no answer within ${deadlineMs} ms`, NEXT_STEP));
      abort.abort();
    }, deadlineMs);
  });
  try {
    return await Promise.race([tooLate, boot(bootGuest, abort.signal)]);
  } finally {
    clearTimeout(timer);
  }
}

async function boot(bootGuest: BootGuest, signal: AbortSignal): Promise<Check> {
  try {
    const { ms } = await bootGuest(signal);
    return { name: "guest", state: "works", detail: "booted a sandbox and ran a command in it", nextStep: null, ms };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return fails(message, (isAgentKernelError(error) ? error.hint : undefined) ?? NEXT_STEP);
  }
}

function fails(detail: string, nextStep: string): Check {
  return { name: "guest", state: "fails", detail, nextStep, ms: null };
}
