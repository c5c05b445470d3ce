/** The backend that a test project is about, as an actor has it: linux, unless another one was chosen. */
import { dockerBackend } from "../../src/backends/docker/index.js";
import type { EngineBackendOptions } from "../../src/backends/engine/index.js";
import { gvisorBackend } from "../../src/backends/gvisor/index.js";
import { linuxBackend } from "../../src/backends/linux/index.js";
import { podmanBackend } from "../../src/backends/podman/index.js";
import type { Backend } from "../../src/core/backend.js";
import { type Actor, actors } from "./actors.js";
import { chosenBackend } from "./chosen-backend.js";
import { engineOptions, withImage } from "./engine-backend.js";
import { provenGvisor } from "./gvisor-backend.js";
import { linuxProgramsOf } from "./linux-backend.js";
import { machinesOf, withContractImage, withGuest } from "./microvm-backend.js";

const [first] = actors;
const gvisor = chosenBackend?.name === "gvisor" && first !== undefined ? await provenGvisor(first) : null;

/** `guestBinary`: another process 1 than ours. */
export function backendOf(actor: Actor, guestBinary?: string): Backend {
  const other = guestBinary === undefined ? {} : { guestBinary };
  const linux = { ...linuxProgramsOf(actor), ...other };
  if (chosenBackend === null) return linuxBackend(linux);
  if (chosenBackend.name === "gvisor") {
    if (gvisor === null) throw new Error("gvisor was chosen and does not work here");
    return gvisorBackend(linux, gvisor);
  }
  if (chosenBackend.name === "microvm")
    return withContractImage(machinesOf(actor, withGuest(actor, guestBinary)).backend);
  const { AGENTKERNEL_IMAGE: image = "", ...env } = chosenBackend.settings;
  const usual = engineOptions(actor, env);
  const options: EngineBackendOptions = { ...usual, programs: { ...usual.programs, ...other } };
  return withImage((chosenBackend.name === "docker" ? dockerBackend : podmanBackend)(options), image);
}
