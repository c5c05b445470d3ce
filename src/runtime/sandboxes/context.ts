/** The part of the owner of all sandboxes that one sandbox uses. */
import type { Backend, BackendName, PersistentBackend, SandboxCopies } from "../../core/backend.js";
import { AgentKernelError } from "../../core/errors.js";
import type { Clock, Moment } from "./clock.js";
import type { SandboxEventDetails } from "./events.js";
import type { HostEnv } from "./types.js";

/** Of sandboxes, or why there are none. */
export function copiesOf({ kept }: Pick<SandboxContext, "kept">): SandboxCopies {
  if (kept.copies !== undefined) return kept.copies;
  throw new AgentKernelError("unsupported", "this backend has no snapshots and no forks of sandboxes");
}

/** Which sandbox is meant, and whose it is. */
export interface Named {
  readonly name: string;
  readonly id: string;
  readonly owner: string | null;
}

export interface SandboxContext {
  readonly backend: Backend;
  /** What finds sandboxes again and removes them, on whichever kernel they run. */
  readonly kept: PersistentBackend;
  /** The one that is named, where one is. Rejects where it does not work here, or keeps no sandboxes in such folders. */
  readonly backendFor: (name: BackendName | undefined) => Promise<Backend & { readonly kept: PersistentBackend }>;
  readonly clock: Clock;
  /** Of this process. */
  readonly env: HostEnv;
  readonly homeDir: string;
  readonly tell: (sandbox: Named, details: SandboxEventDetails) => void;
  /** Something went wrong that nobody waits for. */
  readonly say: (line: string) => void;
  /** Something has changed that an end depends on. */
  readonly lookAtLives: () => void;
  /** When this process first looked at what there is. */
  readonly knownSince: Moment;
  /** Takes its folder and all that is held for it away. */
  readonly forget: (sandbox: Named) => Promise<void>;
}
