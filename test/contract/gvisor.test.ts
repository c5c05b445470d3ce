/** The gvisor backend, for everyone who may start it. */
import { describe, it } from "vitest";
import { actors } from "../support/actors.js";
import { gvisorBackendOf, provenGvisor } from "../support/gvisor-backend.js";
import { linuxProgramsOf } from "../support/linux-backend.js";
import { lacksBy } from "./lacking-cgroup.js";
import { describeBackendContract } from "./suite/index.js";
import { bootSpec } from "./suite/subject.js";

for (const actor of actors) {
  const gvisor = await provenGvisor(actor);
  if (gvisor === null) {
    describe.skip(`the backend gvisor as ${actor.name}`, () => it("needs runsc", () => {}));
    continue;
  }
  const { kept } = gvisorBackendOf(actor, gvisor);
  if (kept === undefined) throw new Error("the gvisor backend keeps sandboxes");
  const folder = actor.ownFolder("probe");
  const probe = await kept.start(bootSpec({}), folder);
  await probe.kill();
  await kept.remove(folder);
  describeBackendContract({
    name: "gvisor",
    actor,
    makeBackend: () => gvisorBackendOf(actor, gvisor),
    programs: { ...linuxProgramsOf(actor), gvisor },
    lacks: lacksBy(probe.layers),
  });
}
