/** Podman's containers as sandboxes. All of it is src/backends/engine; here is only what Podman differs in. */
import type { Backend } from "../../core/backend.js";
import { type EngineBackendOptions, engineBackend } from "../engine/index.js";

export function podmanBackend(options: EngineBackendOptions): Backend {
  return engineBackend("podman", options);
}
