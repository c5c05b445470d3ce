/** Options of the microvm backend. */
import type { HeartbeatTiming } from "../../core/heartbeat-timing.js";
import type { JailPrograms } from "../linux/jail-process.js";
import type { MachineFiles } from "./machine-files.js";
import type { Monitor } from "./monitor.js";
import type { Templates } from "./templates.js";

/**
 * A machine's kernel can stop for ever. The time is far beyond what one takes that has too much to do, on a host that has
 * too much to do.
 */
export const usualHeartbeat: HeartbeatTiming = { quietMs: 30_000, patienceMs: 90_000 };

export interface MicrovmOptions {
  readonly programs: JailPrograms;
  readonly vmmBinary: string;
  readonly monitor: () => Promise<Monitor>;
  readonly files: MachineFiles;
  readonly templates: () => Promise<Templates>;
  /** Of the user's own, for what is known of synced projects. */
  readonly folder: string;
  /** From the kernel on each time, without a template. */
  readonly isCold?: boolean;
  /** Heartbeat timing; without it the usual one. */
  readonly heartbeat?: HeartbeatTiming;
}
