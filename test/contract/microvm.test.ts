/** The microvm backend, emulated in software. Whose rights count inside is the machine's business, so one actor does. */
import { afterAll, describe, it } from "vitest";
import { actors } from "../support/actors.js";
import {
  contractImage,
  machinePartsOf,
  machinesOf,
  missingForMachines,
  withContractImage,
} from "../support/microvm-backend.js";
import { describeBackendContract } from "./suite/index.js";

const [actor] = actors;
const missing = missingForMachines();
if (missing !== null) {
  describe.skip("the backend microvm", () => it(`needs ${missing}`, () => {}));
} else if (actor?.name === "root") {
  const { backend, templates } = machinesOf(actor);
  afterAll(() => templates.close());
  describeBackendContract({
    name: "microvm",
    actor,
    makeBackend: () => withContractImage(backend),
    programs: { machine: machinePartsOf(actor), image: contractImage() },
    hasImage: true,
  });
}
