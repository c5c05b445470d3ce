/** What a connection works with: on whose behalf, in which project, and the runtime that does the work. */
import type { Caller } from "../api/auth/caller.js";
import type { OutputBudget } from "../api/limits/output-budget.js";
import type { Places } from "../api/limits/places.js";
import type { Redactor } from "../core/redact.js";
import type { Surroundings } from "../core/surroundings.js";
import type { StandingSpec } from "../request/index.js";
import type { RuntimeHost } from "../runtime/open-backend.js";
import type { Sandboxes } from "../runtime/sandboxes/index.js";

export interface McpHost {
  readonly caller: Caller;
  /** Whose environment sandboxes get what a policy passes on from. */
  readonly own: Pick<Surroundings, "env" | "homeDir">;
  /** The options of `run` that the user started the server with: every sandbox has them, and no call goes beyond. */
  readonly said?: StandingSpec;
  /** The folder shown as /workspace; null where the caller has none here. */
  readonly project: string | null;
  readonly runtime: RuntimeHost;
  /** The sandboxes that stay; null where this process is not the one that owns them. */
  readonly sandboxes: Sandboxes | null;
  readonly places: Pick<Places, "at" | "used" | "charge" | "reserveSandbox">;
  /** Memory for output of commands. */
  readonly outputs: Pick<OutputBudget, "open">;
  readonly redact: Redactor;
  /** A call has begun; what is returned ends it. */
  readonly serve: () => () => void;
  /** For work that no caller waits for. */
  readonly settleLater: (work: Promise<readonly string[]>) => void;
  /** For what outlives its call: calls `end` when the caller's key is not valid any more. Returns how to stop. */
  readonly whileValid: (caller: Caller, end: () => void) => () => void;
  /** A temporary sandbox is this caller's. */
  readonly noteRun: (sandbox: string) => void;
}
