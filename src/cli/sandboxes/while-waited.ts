/** Work of the daemon's for a command line: given up when that is interrupted or gone. */
import type { Invocation } from "../../invocation/index.js";
import { EndingSignals } from "../run/signals.js";

export async function whileWaited<T>(invocation: Invocation, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const abort = new AbortController();
  const signals = new EndingSignals(invocation.signals, () => abort.abort());
  invocation.gone?.onGone(() => abort.abort());
  try {
    return await work(abort.signal);
  } finally {
    signals.stop();
  }
}
