/** What a process that outlives a call keeps ready for all its callers. */
import type { JailStarter } from "../backends/linux/jail-start.js";
import type { Meter } from "./meter.js";
import type { Sandboxes } from "./sandboxes/index.js";

export interface Resident {
  readonly jails: JailStarter;
  /** The user's sandboxes that stay. */
  readonly sandboxes: Sandboxes;
  readonly meter?: Meter;
}
