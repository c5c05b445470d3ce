/** The linux backend, for everyone who may start it. */
import type { Lack, Layer } from "../../src/core/backend.js";
import { actors } from "../support/actors.js";
import { linuxBackendOf } from "../support/linux-backend.js";
import { describeBackendContract } from "./suite/index.js";
import { Subject } from "./suite/subject.js";

/** Limits on all processes together need a cgroup, which an ordinary user has only where one was delegated. */
function lacksBy(layers: readonly Layer[]): readonly Lack[] {
  const cgroup = layers.find(({ name }) => name === "cgroup");
  if (cgroup?.state === "applied") return [];
  const reason = `no cgroup that this user may write: ${cgroup?.detail ?? "not even looked for"}`;
  return ["limit-memory", "limit-cpu"].map((capability) => ({ capability, reason }));
}

for (const actor of actors) {
  const probe = await Subject.boot(linuxBackendOf(actor));
  await probe.kill();
  describeBackendContract({ name: "linux", actor, makeBackend: linuxBackendOf, lacks: lacksBy(probe.layers) });
}
