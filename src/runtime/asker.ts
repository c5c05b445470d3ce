import type { Ask } from "../egress/index.js";

/** Somebody who answers questions about destinations, for as long as the sandbox may ask. */
export interface Asker {
  /** How the questions are put. */
  readonly by: "terminal" | "mcp";
  readonly ask: Ask;
  /** Whether anybody is there to answer now; always, where absent. */
  readonly mayAsk?: () => boolean;
  close(): void;
}
