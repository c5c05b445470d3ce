import type { HideRule } from "../../core/policy.js";

/** Of whoever asks for a sandbox: what decides about the programs in it. */
export interface HostProgramOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly homeDir: string;
  /** Null where the sandbox shows none. */
  readonly projectDir: string | null;
  /** Directories that the policy shows at their own paths. */
  readonly views: readonly string[];
  /** Directories that it shows anywhere. */
  readonly mounted: readonly string[];
  /** What sandboxes never see. */
  readonly deny: readonly HideRule[];
}
