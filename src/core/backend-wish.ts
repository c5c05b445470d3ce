/** Which backend somebody wants. */
import type { BackendName } from "./backend.js";

export interface BackendWish {
  readonly name: BackendName | "auto";
  /** Who wishes it, for messages. */
  readonly origin: string;
}

export const anyBackend: BackendWish = { name: "auto", origin: "default" };
