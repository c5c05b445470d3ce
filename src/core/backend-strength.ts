/** How strong the wall of a backend is, so that nobody but the user chooses a weaker one. */
import type { BackendName } from "./backend.js";

const strengths: Readonly<Record<BackendName, number>> = {
  // A cluster is another machine: the project's files would leave this one.
  kubernetes: 0,
  // One kernel for the host and the sandbox.
  docker: 1,
  podman: 1,
  linux: 1,
  // A kernel in user space between the two.
  gvisor: 2,
  // A kernel, or no kernel, of the sandbox's own.
  microvm: 3,
  apple: 3,
  wasm: 3,
};

/** `auto` counts as the strongest that it may choose. */
export function backendStrength(name: string): number {
  if (name === "auto") return strengths.microvm;
  if (name === "hyperlight") return strengths.wasm;
  return Object.hasOwn(strengths, name) ? strengths[name as BackendName] : 0;
}
