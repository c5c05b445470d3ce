/**
 * src/runtime/backends decides which backend a sandbox gets. Each that this version has is a candidate here: how it is
 * proven on this machine, what a proof depends on, and how it is opened. What is loaded to prove one is loaded only then.
 */
import { type Backend, type BackendName, type Lack, usableBackends } from "../../core/backend.js";
import type { RuntimeHost } from "../open-backend.js";
import type { Proof } from "./proof.js";

export interface Candidate {
  readonly lacks: readonly Lack[];
  /** Whatever a proof is only good for: the engine's file, version or socket. Cheap; null where there is no engine. */
  identity(host: RuntimeHost): string | null;
  /** Runs a sandbox. Rejects only where nothing could be found out for the moment, never because of the machine. */
  prove(host: RuntimeHost, signal?: AbortSignal): Promise<Proof>;
  open(host: RuntimeHost, proof: Proof): Backend;
}

type UsableBackend = (typeof usableBackends)[number];

const loaders: Readonly<Record<UsableBackend, () => Promise<Candidate>>> = {
  linux: async () => (await import("./linux-candidate.js")).linuxCandidate,
  podman: async () => (await import("./engine-candidate.js")).engineCandidate("podman"),
  docker: async () => (await import("./engine-candidate.js")).engineCandidate("docker"),
  microvm: async () => (await import("./microvm-candidate.js")).microvmCandidate,
  gvisor: async () => (await import("./gvisor-candidate.js")).gvisorCandidate,
  wasm: async () => (await import("./wasm-candidate.js")).wasmCandidate,
  apple: async () => (await import("./apple-candidate.js")).appleCandidate,
};

/** Null where this version has none. */
export async function candidateOf(name: BackendName): Promise<Candidate | null> {
  return Object.hasOwn(loaders, name) ? await loaders[name as UsableBackend]() : null;
}

/** In the order in which they are shown. */
export const candidateNames: readonly BackendName[] = usableBackends;

/** gVisor and wasm only where they are named; virtual machines only where hardware runs them (proven-machine.ts). */
export function automaticOrder(platform: NodeJS.Platform): readonly BackendName[] {
  return platform === "darwin" ? ["apple", "docker", "podman"] : ["microvm", "linux", "podman", "docker"];
}
