/** One engine for all files of a project: started by the process that starts the workers, and ended by it. */
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { engineVariable } from "./chosen-backend.js";
import { DockerEngine } from "./docker.js";
import { loadContractImage } from "./engine-image.js";
import { Podman } from "./podman.js";
import { testFolder } from "./test-folder.js";

interface Started {
  readonly socketPath: string;
  stop(): Promise<void>;
}

export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  const name = project.config.env.AGENTKERNEL_TEST_BACKEND ?? "";
  const engine = await start(name);
  process.env[engineVariable(name)] = `${engine.socketPath} ${await loadContractImage(engine.socketPath)}`;
  return () => engine.stop();
}

async function start(name: string): Promise<Started> {
  if (name === "docker") {
    const engine = new DockerEngine(join(testFolder(), "shared", "docker"));
    await engine.start();
    return engine;
  }
  const engine = new Podman(join(testFolder(), "shared", "podman"), "overlay");
  return { socketPath: await engine.serve(), stop: () => engine.stop() };
}
