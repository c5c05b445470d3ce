/** How a container ended, from its exit status. Pure. */
import type { SandboxEnd } from "../../../core/backend.js";

/** A status above this is that of a process that a signal ended. */
const BY_SIGNAL = 128;
const SIGKILL = 9;

/** Null: nobody saw its status. */
export function endOf(status: number | null): SandboxEnd {
  const isSignal = status !== null && status > BY_SIGNAL;
  return {
    code: isSignal ? null : status,
    signal: status === null ? SIGKILL : isSignal ? status - BY_SIGNAL : null,
    oomKills: 0,
    pidsDenied: 0,
    memoryPeakBytes: null,
    cpuUs: null,
    carried: null,
  };
}
