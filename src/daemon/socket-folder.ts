/** The private folder of the socket: made, checked, and reached by a path of any length. */
import { constants, mkdirSync, openSync, statSync } from "node:fs";
import { AgentKernelError } from "../core/errors.js";
import { escapeText } from "../core/escape.js";

/** Who may enter it may use the daemon, so only its owner may. */
export function preparePrivateFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const found = statSync(folder);
  if (found.uid === process.geteuid?.() && (found.mode & 0o077) === 0) return;
  throw new AgentKernelError("conflict", `${escapeText(folder)} is open to others, or is not yours`, {
    hint: "it leads to your sandboxes: chown it to yourself and chmod it to 700, or remove it",
  });
}

/** Stands for the folder in a path that is short enough for the address of a Unix socket, while this process lives. */
export function shortPath(folder: string): string {
  const descriptor = openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY);
  return `/proc/${process.pid}/fd/${descriptor}`;
}
