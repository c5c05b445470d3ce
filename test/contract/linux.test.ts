/** The linux backend, for everyone who may start it. */
import type { Lack, Layer } from "../../src/core/backend.js";
import { actors } from "../support/actors.js";
import { linuxBackendOf, linuxProgramsOf } from "../support/linux-backend.js";
import { describeBackendContract } from "./suite/index.js";
import { bootSpec } from "./suite/subject.js";

/** Limits on all processes together need a cgroup, which an ordinary user has only where one was delegated. */
function lacksBy(layers: readonly Layer[]): readonly Lack[] {
  const lacking = (layer: string, capabilities: readonly string[]): Lack[] => {
    const found = layers.find(({ name }) => name === layer);
    if (found?.state === "applied") return [];
    const reason = `no cgroup that this user may write: ${found?.detail ?? "not even looked for"}`;
    return capabilities.map((capability) => ({ capability, reason }));
  };
  return [...lacking("cgroup", ["limit-memory", "limit-cpu"]), ...lacking("freezer", ["pause"])];
}

for (const actor of actors) {
  const { kept } = linuxBackendOf(actor);
  if (kept === undefined) throw new Error("the linux backend keeps sandboxes");
  const folder = actor.ownFolder("probe");
  const probe = await kept.start(bootSpec({}), folder);
  await probe.kill();
  await kept.remove(folder);
  const programs = linuxProgramsOf(actor);
  describeBackendContract({
    name: "linux",
    actor,
    makeBackend: linuxBackendOf,
    programs,
    lacks: lacksBy(probe.layers),
  });
}
