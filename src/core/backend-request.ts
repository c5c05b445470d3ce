/** Names the backend that a caller wants. */
import type { BackendName } from "./backend.js";

export interface BackendRequest {
  readonly name: BackendName | "auto";
  /** The setting that named it, for messages. */
  readonly origin: string;
}

export const anyBackend: BackendRequest = { name: "auto", origin: "default" };
