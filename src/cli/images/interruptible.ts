/** Work that Ctrl-C ends in good order: what came so far stays, and the next one goes on from there. */
import { writeErr } from "../output.js";
import { EndingSignals } from "../run/signals.js";

/** The work's own status, or 128 and the signal. */
export async function interruptible(what: string, work: (signal: AbortSignal) => Promise<number>): Promise<number> {
  const stop = new AbortController();
  const signals = new EndingSignals(() => stop.abort());
  try {
    return await work(stop.signal);
  } catch (error) {
    if (signals.first === null) throw error;
    await writeErr(`agentkernel: ${what} was stopped; what came so far is kept\n`);
    return 128 + signals.first;
  } finally {
    signals.stop();
  }
}
