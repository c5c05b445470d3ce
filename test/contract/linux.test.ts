/** The linux backend, for everyone who may start it. */
import { join } from "node:path";
import { linuxBackend } from "../../src/backends/linux/index.js";
import type { Backend, Lack, Layer } from "../../src/core/backend.js";
import { type Actor, actors } from "../support/actors.js";
import { startedBy } from "../support/run-as.js";
import { describeBackendContract } from "./suite/index.js";
import { Subject } from "./suite/subject.js";

const jails = new Map<Actor, string>();

function makeBackend(actor: Actor): Backend {
  const native = join(actor.dist, "native");
  const jailBinary = jails.get(actor) ?? startedBy(actor, join(native, "ak-jail"));
  jails.set(actor, jailBinary);
  return linuxBackend({
    jailBinary,
    guestBinary: join(native, "ak-guest"),
    journalDir: join(actor.home, ".local", "state", "agentkernel", "journal"),
  });
}

/** Limits on all processes together need a cgroup, which an ordinary user has only where one was delegated. */
function lacksBy(layers: readonly Layer[]): readonly Lack[] {
  const cgroup = layers.find(({ name }) => name === "cgroup");
  if (cgroup?.state === "applied") return [];
  const reason = `no cgroup that this user may write: ${cgroup?.detail ?? "not even looked for"}`;
  return ["limit-memory", "limit-cpu"].map((capability) => ({ capability, reason }));
}

for (const actor of actors) {
  const probe = await Subject.boot(makeBackend(actor));
  await probe.kill();
  describeBackendContract({ name: "linux", actor, makeBackend, lacks: lacksBy(probe.layers) });
}
