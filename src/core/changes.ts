/**
 * What a kept sandbox changed in its copy of the project, in the words of every surface. Paths are relative to the
 * project; a name that is not UTF-8 is shown as well as it can be.
 */
export type ChangeKind = "added" | "modified" | "deleted" | "renamed";

export interface FileShape {
  readonly type: "file" | "symlink" | "dir" | "other";
  /** Permission bits, set-id bits too; those are never applied. */
  readonly mode: number;
  readonly sizeBytes: number;
  /** Where a link leads. */
  readonly target: string | null;
}

export interface ProjectChange {
  readonly change: ChangeKind;
  readonly path: string;
  /** The name before, of a renamed file. */
  readonly from: string | null;
  /** As the sandbox has it; null for what is deleted. */
  readonly now: FileShape | null;
  /** As the host has it; null for what is added. */
  readonly before: FileShape | null;
  /** null where it is no file, or nothing may be said about it. */
  readonly binary: boolean | null;
  /** How many lines come and go, where that was asked for and it is text. */
  readonly lines: { readonly added: number; readonly removed: number } | null;
  /** The host's change since then; the entry is applied only if the user says so. */
  readonly conflict: string | null;
  /** Why it is never applied. */
  readonly refused: string | null;
  /** It steers what the user runs later, and is applied only after a yes to it. */
  readonly review: boolean;
}

interface About {
  readonly projectDir: string;
  /** Changes beyond what is listed. */
  readonly omitted: number;
  /** Paths that were asked for and have no change at or below them. */
  readonly unmatched: readonly string[];
}

export interface ChangeList extends About {
  readonly changes: readonly ProjectChange[];
  /** They are carried over by a stop, and cannot be applied by hand. */
  readonly synced: boolean;
}

export interface ApplyReport extends About {
  /** Each change, in the order in which it was dealt with: applied unless it says what stands against it. */
  readonly changes: readonly ProjectChange[];
  readonly applied: number;
  readonly conflicts: number;
  readonly refused: number;
  /** They wait for a yes. */
  readonly held: number;
}

interface ChangeSelection {
  /** Relative to the project, each with all below it; empty for everything. */
  readonly paths: readonly string[];
}

export interface ApplyOptions {
  readonly isRehearsal?: boolean;
  readonly overridesHost?: boolean;
  /** Paths at or below which what waits for a review is applied too. */
  readonly yesTo?: readonly string[];
  readonly yesToAll?: boolean;
}

/** Of a sandbox that runs as of one that does not. Rejects with `unsupported` where it has no copy of a project. */
export interface PersistentChanges {
  list(
    stateDir: string,
    options: ChangeSelection & { readonly countsLines?: boolean },
    signal?: AbortSignal,
  ): Promise<ChangeList>;
  /** A patch that git applies; what cannot be in it goes to `note`, as text that is safe to print. */
  patch(
    stateDir: string,
    options: ChangeSelection,
    note: (text: string) => void,
    signal?: AbortSignal,
  ): AsyncIterable<Buffer>;
  apply(stateDir: string, options: ChangeSelection & ApplyOptions, signal?: AbortSignal): Promise<ApplyReport>;
}
