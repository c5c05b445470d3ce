/** What a process that outlives a call keeps ready for all its callers. */
import type { JailStarter } from "../backends/linux/jail-start.js";
import type { WarmPool } from "./pool/index.js";

export interface Resident {
  readonly jails: JailStarter;
  readonly pool: WarmPool;
}
