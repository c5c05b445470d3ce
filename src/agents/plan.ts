/** What an installation or its removal changes, worked out over texts before anything is written. */
import { isAgentKernelError } from "../core/errors.js";
import type { FileEdits } from "./agent.js";
import { ensure, type FileText, meansTheSame, remove } from "./edit/index.js";
import { type Splice, spliceBetween, undo } from "./edit/splice.js";

export interface FileChange {
  readonly path: string;
  readonly isPrivate: boolean;
  readonly before: FileText;
  /** Null: the file goes. */
  readonly after: FileText;
  /** How it came about, step by step: what an uninstall undoes. */
  readonly splices: readonly Splice[];
}

type ReadText = (path: string) => FileText;

/** What an earlier installation did to a file. */
export interface FileRecord {
  /** The file was not there before. */
  readonly created: boolean;
  readonly splices: readonly Splice[];
}

/** Only files that change. */
export function planInstall(files: readonly FileEdits[], read: ReadText): readonly FileChange[] {
  return files.flatMap(({ path, isPrivate = false, edits }) => {
    const before = read(path);
    const splices: Splice[] = [];
    let text = before;
    for (const edit of edits) {
      const next = ensure(text, edit, path);
      const splice = spliceBetween(text ?? "", next);
      if (splice !== null) splices.push(splice);
      text = next;
    }
    return text === before ? [] : [{ path, isPrivate, before, after: text, splices }];
  });
}

/** What the user changed since stays; where that was nothing, the file is again what it was, to the byte. */
export function planUninstall(
  files: readonly FileEdits[],
  read: ReadText,
  recordOf: (path: string) => FileRecord | null,
): readonly FileChange[] {
  return files.flatMap((file) => {
    const before = read(file.path);
    if (before === null) return [];
    const after = withoutOurs(file, before, recordOf(file.path));
    return after === before ? [] : [{ path: file.path, isPrivate: false, before, after, splices: [] }];
  });
}

function withoutOurs(file: FileEdits, text: string, record: FileRecord | null): FileText {
  const { path, edits } = file;
  const removed = edits
    .toReversed()
    .reduce<FileText>((rest, edit) => (rest === null ? null : remove(rest, edit, path)), text);
  const undone = record === null ? null : undoAll(text, record.splices);
  // A file that was there before us is never taken away.
  if (undone === null || !agree(file, undone, removed)) return record?.created === false ? (removed ?? "") : removed;
  return record?.created === true && undone.trim() === "" ? null : undone;
}

/**
 * Undoing is exact, but blind. It counts only where both ways say the same; and entries that the user had before us, which
 * only undoing knows of, are no difference: so our own are put back into both before they are compared.
 */
function agree({ path, edits }: FileEdits, one: FileText, other: FileText): boolean {
  const [first] = edits;
  const installed = (text: FileText) => edits.reduce<FileText>((rest, edit) => ensure(rest, edit, path), text || null);
  try {
    return first === undefined || meansTheSame(installed(one), installed(other), first, path);
  } catch (error) {
    if (isAgentKernelError(error)) return false;
    throw error;
  }
}

function undoAll(text: string, splices: readonly Splice[]): string | null {
  return splices
    .toReversed()
    .reduce<string | null>((rest, splice) => (rest === null ? null : undo(rest, splice)), text);
}
