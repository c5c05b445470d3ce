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

/** Whether `asked` may isolate less than `usual`. `auto` may turn out to be any of those that it chooses from. */
export function isWeakerBackend(asked: string, usual: string): boolean {
  if (asked === usual) return false;
  const least = asked === "auto" ? strengths.linux : strengthOf(asked);
  const most = usual === "auto" ? strengths.microvm : strengthOf(usual);
  return least < most;
}

function strengthOf(name: string): number {
  if (name === "hyperlight") return strengths.wasm;
  return Object.hasOwn(strengths, name) ? strengths[name as BackendName] : 0;
}
