/** A named sandbox, as the verbs about its files need it: `diff`, `apply` and `cp`. */
import type { AppliedPaths } from "../core/applied-paths.js";
import type { PersistentChanges } from "../core/changes.js";
import { AgentKernelError } from "../core/errors.js";
import { escapeText } from "../core/escape.js";
import type { HideRule } from "../core/policy.js";
import type { GuestFiles } from "../guest/index.js";

interface FileOperation {
  readonly operation: "read" | "write";
  readonly path: string;
  readonly bytes: number | null;
  readonly verdict: "allowed" | "denied";
}

export interface SandboxFiles {
  readonly name: string;
  readonly stateDir: string;
  /** The folder of the host that it has a copy of; null without one. */
  readonly projectDir: string | null;
  /** Undefined where its backend cannot tell what it changed. */
  readonly changes: PersistentChanges | undefined;
  /** What its policy hides. */
  readonly hide: readonly HideRule[];
  /** Puts a file operation on record, before it is done. */
  record(access: FileOperation): Promise<void>;
  /** Puts on record what was applied to the project. */
  recordApplied(applied: AppliedPaths): Promise<void>;
  /** Its files for as long as `use` takes. Rejects with `conflict` where it does not run. */
  withFiles<T>(use: (files: GuestFiles) => Promise<T>): Promise<T>;
}

/** Rejects with `not_found` where there is none of that name. */
export type FindSandbox = (name: string) => Promise<SandboxFiles>;

export function changesOf({ name, changes }: SandboxFiles): PersistentChanges {
  if (changes !== undefined) return changes;
  throw new AgentKernelError("unsupported", `the backend of ${escapeText(name)} cannot tell what a sandbox changed`, {
    hint: "copy files out of it with agentkernel cp instead",
  });
}
