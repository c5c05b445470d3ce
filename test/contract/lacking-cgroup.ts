/** What a sandbox cannot do for somebody who may write no cgroup. */
import type { Lack, Layer } from "../../src/core/backend.js";

/** Limits on all processes together need a cgroup, which an ordinary user has only where one was delegated. */
export function lacksBy(layers: readonly Layer[]): readonly Lack[] {
  const lacking = (layer: string, capabilities: readonly string[]): Lack[] => {
    const found = layers.find(({ name }) => name === layer);
    if (found?.state === "applied") return [];
    const reason = `no cgroup that this user may write: ${found?.detail ?? "not even looked for"}`;
    return capabilities.map((capability) => ({ capability, reason }));
  };
  return [...lacking("cgroup", ["limit-memory", "limit-cpu"]), ...lacking("freezer", ["pause"])];
}
