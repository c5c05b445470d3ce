/** Work that Ctrl-C ends in good order: what came so far stays, and the next one goes on from there. */
import { writeErr } from "../output.js";
import { EndingSignals } from "../run/signals.js";

/** How long the work may take to put things in order. */
const GRACE_MS = 3000;

/** The work's own status, or 128 and the signal. */
export async function interruptible(what: string, work: (signal: AbortSignal) => Promise<number>): Promise<number> {
  const stop = new AbortController();
  let overdue: NodeJS.Timeout | undefined;
  const signals = new EndingSignals((signal) => {
    stop.abort();
    overdue ??= setTimeout(() => endAtOnce(signals, signal), GRACE_MS);
  });
  try {
    return await work(stop.signal);
  } catch (error) {
    if (signals.first === null) throw error;
    await writeErr(`agentkernel: ${what} was stopped; what came so far is kept\n`);
    return 128 + signals.first;
  } finally {
    clearTimeout(overdue);
    signals.stop();
  }
}

/** A call that cannot be called off, such as opening a pipe that nobody writes, would hold up even our exit. */
function endAtOnce(signals: EndingSignals, signal: number): void {
  signals.stop();
  process.kill(process.pid, signal);
}
