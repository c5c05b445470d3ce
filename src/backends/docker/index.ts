/** Docker's containers as sandboxes. All of it is src/backends/engine; here is only what Docker differs in. */
import type { Backend } from "../../core/backend.js";
import { type EngineBackendOptions, engineBackend } from "../engine/index.js";

export function dockerBackend(options: EngineBackendOptions): Backend {
  return engineBackend("docker", options);
}
