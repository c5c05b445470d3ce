/** The docker backend on a real engine of the test's own. Whose rights count there is the engine's, so one actor does. */
import { join } from "node:path";
import { afterAll } from "vitest";
import { dockerBackend } from "../../src/backends/docker/index.js";
import { actors } from "../support/actors.js";
import { DockerEngine } from "../support/docker.js";
import { engineOptions, guestPid, withImage } from "../support/engine-backend.js";
import { loadContractImage } from "../support/engine-image.js";
import { testFolder } from "../support/test-folder.js";
import { describeBackendContract } from "./suite/index.js";

const [actor] = actors;
if (actor?.name === "root") {
  const engine = new DockerEngine(join(testFolder(), "docker"));
  await engine.start();
  const id = await loadContractImage(engine.socketPath);
  const options = engineOptions(actor, { DOCKER_HOST: `unix://${engine.socketPath}` });
  const backend = dockerBackend(options);
  afterAll(() => engine.stop());
  describeBackendContract({
    name: "docker",
    actor,
    makeBackend: () => withImage(backend, id),
    programs: { engine: "docker", options, image: { kind: "engine", engine: "docker", id } },
    guestOf: (folder) => guestPid(engine.socketPath, folder),
    hasImage: true,
  });
}
