/** The request of a run: everything is decided and checked, nothing is started yet. */
import type { ModuleSource } from "../backends/wasm/module-file.js";
import type { BackendRequest } from "../core/backend-request.js";
import type { Policy } from "../core/policy.js";
import type { Origins } from "../policy/resolve.js";
import type { PublishedPort } from "./published-ports.js";
import type { ImageRequest, ImageSettings } from "./root-image.js";

/** The user's settings for the log. */
export interface AuditSettings {
  readonly enabled?: boolean;
  readonly path?: string;
  readonly max_mb?: number;
  readonly keep?: number;
}

/** A call of a WebAssembly module in place of a command. */
export interface ModuleCall {
  readonly source: ModuleSource;
  /** Whose call it is: nobody else's is ever in the same worker. */
  readonly caller: string;
}

export interface RunRequest {
  /** Null but for the backend wasm. */
  readonly module: ModuleCall | null;
  /** Empty: what the image says it is for. */
  readonly argv: readonly string[];
  /** The backend that isolates it. */
  readonly backend: BackendRequest;
  readonly policy: Policy;
  /** Which input set each field of the policy. */
  readonly origins: Origins;
  readonly image: ImageRequest;
  readonly imageSettings: ImageSettings;
  /** Settings for the audit log. */
  readonly audit: AuditSettings;
  /** The folder shown as /workspace; null where the workspace is `none`. */
  readonly projectDir: string | null;
  /** The user's home folder; null where the sandbox does not show it. */
  readonly homeDir: string | null;
  /** Absolute, inside the sandbox; null where the user named none. */
  readonly workdir: string | null;
  readonly hostEnv: Readonly<Record<string, string | undefined>>;
  readonly publish: readonly PublishedPort[];
  /** Destinations that no rule covers are put to the user. */
  readonly ask: boolean;
  readonly tty: boolean;
  readonly json: boolean;
  /** Said on stderr before the run, one line each. */
  readonly notes: readonly string[];
}
