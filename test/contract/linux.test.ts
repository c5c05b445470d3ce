/** The linux backend, for everyone who may start it. */
import { actors } from "../support/actors.js";
import { linuxBackendOf, linuxProgramsOf } from "../support/linux-backend.js";
import { lacksBy } from "./lacking-cgroup.js";
import { describeBackendContract } from "./suite/index.js";
import { bootSpec } from "./suite/subject.js";

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
