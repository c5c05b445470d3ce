/** Work that Ctrl-C ends in good order: what came so far stays, and the next one goes on from there. */
import type { Invocation } from "../../invocation/index.js";
import { writeErr } from "../output.js";
import { EndingSignals } from "../run/signals.js";

/** How long the work may take to put things in order. */
const GRACE_MS = 3000;

/** The work's own status, or 128 and the signal. */
export async function interruptible(
  invocation: Invocation,
  what: string,
  work: (signal: AbortSignal) => Promise<number>,
): Promise<number> {
  const stop = new AbortController();
  let overdue: NodeJS.Timeout | undefined;
  // A call that cannot be called off, such as opening a pipe that nobody writes, would hold up even our exit.
  const signals = new EndingSignals(invocation.signals, (signal) => {
    stop.abort();
    overdue ??= setTimeout(() => invocation.dieBy(signal), GRACE_MS);
  });
  try {
    return await work(stop.signal);
  } catch (error) {
    if (signals.first === null) throw error;
    await writeErr(invocation, `agentkernel: ${what} was stopped; what came so far is kept\n`);
    return 128 + signals.first;
  } finally {
    clearTimeout(overdue);
    signals.stop();
  }
}
