/**
 * The backend that a test project is about, where it is not the usual one: AGENTKERNEL_TEST_BACKEND names it. An engine
 * is started once for the whole project (shared-engine.ts); its socket and its image come from there.
 */
import { contractFolder, kernelFolder, machineCache } from "./machine-places.js";

export const engineNames = ["docker", "podman", "gvisor", "microvm"] as const;

export type ChosenName = (typeof engineNames)[number];

interface ChosenBackend {
  readonly name: ChosenName;
  /** Variables with which every run is on it. */
  readonly settings: Readonly<Record<string, string>>;
}

/** Where the process that starts the workers says which engine there is: "socket image". */
export const engineVariable = (name: string) => `AGENTKERNEL_TEST_ENGINE_${name.toUpperCase()}`;

function choose(): ChosenBackend | null {
  const { AGENTKERNEL_TEST_BACKEND: wanted } = process.env;
  if (wanted === undefined) return null;
  const name = engineNames.find((one) => one === wanted);
  if (name === undefined) throw new Error(`AGENTKERNEL_TEST_BACKEND is ${wanted}, and not one of ${engineNames}`);
  if (name === "gvisor") return { name, settings: { AGENTKERNEL_BACKEND: name } };
  if (name === "microvm") {
    const places = { AGENTKERNEL_KERNEL: kernelFolder, XDG_CACHE_HOME: machineCache };
    return {
      name,
      settings: { AGENTKERNEL_BACKEND: name, AGENTKERNEL_IMAGE: `rootfs:${contractFolder()}`, ...places },
    };
  }
  const [socket, image] = (process.env[engineVariable(name)] ?? "").split(" ");
  if (socket === undefined || image === undefined) throw new Error(`no ${name} was started for these tests`);
  const address = { [name === "docker" ? "DOCKER_HOST" : "CONTAINER_HOST"]: `unix://${socket}` };
  return { name, settings: { AGENTKERNEL_BACKEND: name, AGENTKERNEL_IMAGE: image, ...address } };
}

export const chosenBackend = choose();

/** Everything is tried, also what takes long and is shown on another backend already. */
export const isThorough = process.env.AGENTKERNEL_TEST_THOROUGH === "1";
