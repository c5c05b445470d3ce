/** What one sandbox needs of whoever owns them all. */
import type { Backend, KeptBackend } from "../../core/backend.js";
import type { Clock, Moment } from "./clock.js";
import type { SandboxHappening } from "./events.js";
import type { HostEnv } from "./types.js";

/** Which sandbox is meant, and whose it is. */
export interface Named {
  readonly name: string;
  readonly id: string;
  readonly owner: string | null;
}

export interface SandboxHome {
  readonly backend: Backend;
  readonly kept: KeptBackend;
  readonly clock: Clock;
  /** Of this process. */
  readonly env: HostEnv;
  readonly homeDir: string;
  readonly tell: (sandbox: Named, happening: SandboxHappening) => void;
  /** Something went wrong that nobody waits for. */
  readonly say: (line: string) => void;
  /** Something has changed that an end depends on. */
  readonly lookAtLives: () => void;
  /** When this process first looked at what there is. */
  readonly knownSince: Moment;
  /** Takes its folder and all that is held for it away. */
  readonly forget: (sandbox: Named) => Promise<void>;
}
