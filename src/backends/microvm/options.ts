/** What the microvm backend is made from. */
import type { JailPrograms } from "../linux/jail-process.js";
import type { MachineFiles } from "./machine-files.js";
import type { Monitor } from "./monitor.js";
import type { Templates } from "./templates.js";

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
}
