/** Which monitor runs the machine of the sandbox with this state folder; null where it is in none. */
import type { MonitorProgram } from "../monitor.js";
import { readRecord } from "./record.js";

export function recordedMonitor(stateDir: string): MonitorProgram | null {
  return readRecord(stateDir)?.monitor ?? null;
}
