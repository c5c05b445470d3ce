/** What a process that outlives a call keeps ready for all its callers. */
import type { JailStarter } from "../backends/linux/jail-start.js";
import type { HoldingRegistry } from "../core/holding.js";
import type { WarmPool } from "./pool/index.js";

export interface Resident {
  readonly jails: JailStarter;
  readonly pool: WarmPool;
  /** What is to outlive the call is entered here, and the process does not end by itself meanwhile. */
  readonly holdings: HoldingRegistry;
}
