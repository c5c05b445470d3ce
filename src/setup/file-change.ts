/** One file that is to have a certain text, or to be gone: what would change, and the change itself. */
import { lstatSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { AgentKernelError } from "../core/errors.js";
import { OWN_MARK } from "./systemd-unit.js";

export interface FileChange {
  readonly path: string;
  readonly kind: "none" | "create" | "replace" | "remove";
  /** Null where there is, or is to be, no such file. */
  readonly before: string | null;
  readonly after: string | null;
}

export function plannedWrite(path: string, text: string): FileChange {
  const before = readPlain(path);
  const kind = before === null ? "create" : before === text ? "none" : "replace";
  return { path, kind, before, after: text };
}

/** Only what `setup` wrote is taken away by it. */
export function plannedRemoval(path: string): FileChange {
  const before = readPlain(path);
  if (before !== null && !before.includes(OWN_MARK)) {
    throw new AgentKernelError("conflict", `${path} was not written by agentkernel setup`, {
      hint: "look at it, and remove it yourself if it is not needed",
    });
  }
  return { path, kind: before === null ? "none" : "remove", before, after: null };
}

/** Whole or not at all: the new text is written beside it and takes its place. */
export function makeChange({ path, kind, after }: FileChange): void {
  if (kind === "none") return;
  try {
    if (after === null) {
      rmSync(path);
      return;
    }
    mkdirSync(dirname(path), { recursive: true });
    const fresh = join(dirname(path), `.agentkernel-setup.${process.pid}`);
    writeFileSync(fresh, after, { mode: 0o644, flush: true });
    renameSync(fresh, path);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new AgentKernelError("conflict", `${path} cannot be ${after === null ? "removed" : "written"}: ${reason}`, {
      hint: "make its folder yours and writable; --print shows the text, to be put there by hand",
      cause,
    });
  }
}

function readPlain(path: string): string | null {
  let isFile: boolean;
  try {
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found === undefined) return null;
    isFile = found.isFile();
    if (isFile) return readFileSync(path, "utf8");
  } catch (cause) {
    if (cause instanceof Error && "code" in cause && cause.code === "ENOTDIR") return null;
    throw new AgentKernelError("conflict", `${path} cannot be read: ${cause}`, { hint: "correct its rights", cause });
  }
  // A link may lead into somebody's collection of such files, which is theirs to change.
  throw new AgentKernelError("conflict", `${path} is not a plain file`, {
    hint: "remove it first, or change it yourself: --print shows the text",
  });
}
