/** The podman backend on a real engine of the test's own. Whose rights count there is the engine's, so one actor does. */
import { join } from "node:path";
import { afterAll } from "vitest";
import { podmanBackend } from "../../src/backends/podman/index.js";
import { actors } from "../support/actors.js";
import { engineOptions, guestPid, withImage } from "../support/engine-backend.js";
import { loadContractImage } from "../support/engine-image.js";
import { Podman } from "../support/podman.js";
import { testFolder } from "../support/test-folder.js";
import { describeBackendContract } from "./suite/index.js";

const [actor] = actors;
if (actor?.name === "root") {
  const engine = new Podman(join(testFolder(), "podman"), "overlay");
  const socketPath = await engine.serve();
  const id = await loadContractImage(socketPath);
  const options = engineOptions(actor, { CONTAINER_HOST: `unix://${socketPath}` });
  const backend = podmanBackend(options);
  afterAll(() => engine.stop());
  describeBackendContract({
    name: "podman",
    actor,
    makeBackend: () => withImage(backend, id),
    programs: { engine: "podman", options, image: { kind: "engine", engine: "podman", id } },
    guestOf: (folder) => guestPid(socketPath, folder),
    hasImage: true,
  });
}
