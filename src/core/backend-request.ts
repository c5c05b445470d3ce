/** Which backend somebody wants. */
import type { BackendName } from "./backend.js";

export interface BackendRequest {
  readonly name: BackendName | "auto";
  /** Who wishes it, for messages. */
  readonly origin: string;
}

export const anyBackend: BackendRequest = { name: "auto", origin: "default" };
