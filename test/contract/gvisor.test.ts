/** The gvisor backend, for everyone who may start it. */
import { describe, it } from "vitest";
import { actors } from "../support/actors.js";
import { gvisorBackendOf, provenGvisor } from "../support/gvisor-backend.js";
import { linuxProgramsOf } from "../support/linux-backend.js";
import { describeBackendContract } from "./suite/index.js";

for (const actor of actors) {
  const gvisor = await provenGvisor(actor);
  if (gvisor === null) {
    describe.skip(`the backend gvisor as ${actor.name}`, () => it("needs runsc", () => {}));
    continue;
  }
  describeBackendContract({
    name: "gvisor",
    actor,
    makeBackend: () => gvisorBackendOf(actor, gvisor),
    programs: { ...linuxProgramsOf(actor), gvisor },
  });
}
