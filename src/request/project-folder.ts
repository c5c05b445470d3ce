/** A folder that somebody names as the project: it is there, it is one, and links to it are followed once and for all. */
import { realpathSync, statSync } from "node:fs";
import { AgentKernelError } from "../core/errors.js";
import { fileReason } from "../core/file-reason.js";

interface NamedFolder {
  readonly path: string;
  /** The option or the field that named it. */
  readonly field: string;
  /** Only for a path that the reader may know of. */
  readonly shown?: string;
}

export function projectFolder({ path, field, shown }: NamedFolder): string {
  const named = shown === undefined ? field : `${field}: ${shown}`;
  const refuse = (why: string, cause?: unknown): never => {
    throw new AgentKernelError("invalid_argument", `${named} ${why}`, {
      hint: "name the folder of the project; it must be there already",
      details: { field: field.replace(/^--/, "") },
      ...(cause === undefined ? {} : { cause }),
    });
  };
  let real = "";
  try {
    real = realpathSync(path);
  } catch (cause) {
    const isMissing =
      cause instanceof Error && "code" in cause && (cause.code === "ENOENT" || cause.code === "ENOTDIR");
    refuse(isMissing ? "does not exist" : `cannot be read: ${fileReason(cause)}`, cause);
  }
  if (!statSync(real).isDirectory()) refuse("is not a folder");
  return real;
}
