/** What `run` asks of the runtime: everything is decided and checked, nothing is started yet. */
import type { ImageSource } from "../core/backend.js";
import type { Policy } from "../core/policy.js";
import type { Origins } from "../policy/resolve.js";
import type { Configuration } from "./configuration.js";

export interface RunRequest {
  readonly argv: readonly string[];
  readonly policy: Policy;
  /** Which input set each field of the policy. */
  readonly origins: Origins;
  readonly image: {
    readonly name: string;
    readonly source: ImageSource;
    /** Why this image and no other. */
    readonly why: string;
    /** What was named by a flag or a file; null where it is to be detected. */
    readonly asked: { readonly reference: string; readonly origin: string } | null;
  };
  /** What the configuration says of the image store. */
  readonly images: Configuration["images"];
  /** What the configuration says of the audit log. */
  readonly audit: Configuration["audit"];
  /** The folder shown as /workspace; null where the workspace is `none`. */
  readonly projectDir: string | null;
  /** The user's home folder; null where the sandbox does not show it. */
  readonly homeDir: string | null;
  /** Absolute, inside the sandbox. */
  readonly cwd: string;
  /** The whole environment of the command. */
  readonly env: Readonly<Record<string, string>>;
  readonly tty: boolean;
  readonly json: boolean;
  /** Said on stderr before the run, one line each. */
  readonly notes: readonly string[];
}
