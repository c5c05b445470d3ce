/** Paths inside a sandbox as callers write them: absolute, or relative to the project. */
import { posix } from "node:path";

const PROJECT = "/workspace";

/** The absolute path; null for what is no path, or leads out of the project by `..`. */
export function insidePath(text: string): string | null {
  if (text === "" || text.includes("\0")) return null;
  if (text.startsWith("/")) return text;
  const path = posix.join(PROJECT, text);
  return path === PROJECT || path.startsWith(`${PROJECT}/`) ? path.replace(/\/$/, "") : null;
}
