/** How many sandboxes are kept warm, by the user's configuration. A project's own file has no say: the daemon is the user's. */

import type { Configuration } from "../request/configuration.js";
import { defaultPoolSettings, type PoolSettings, type WarmLimits } from "../runtime/pool/sizes.js";

interface Counts {
  readonly min_warm?: number | undefined;
  readonly max_warm?: number | undefined;
}

export function poolSettings({ agents, ...counts }: Configuration["daemon"]): PoolSettings {
  const shared = limitsOf(counts, defaultPoolSettings);
  const own = [...(agents ?? [])].filter(([, { min_warm, max_warm }]) => (min_warm ?? max_warm) !== undefined);
  return { ...shared, agents: new Map(own.map(([name, one]) => [name, limitsOf(one, shared)])) };
}

/** Where only one of the two is said, the other gives way. */
function limitsOf({ min_warm: min, max_warm: max }: Counts, usual: WarmLimits): WarmLimits {
  return {
    min: min ?? Math.min(usual.min, max ?? usual.min),
    max: max ?? Math.max(usual.max, min ?? usual.max),
  };
}
