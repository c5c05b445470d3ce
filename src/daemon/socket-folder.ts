/** The private folder of the socket: made, checked, and reached by a path of any length. */
import { closeSync, constants, mkdirSync, openSync, readdirSync, rmSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { AgentKernelError } from "../core/errors.js";
import { escapeText } from "../core/escape.js";
import type { DaemonPlace } from "./socket-place.js";

/** Who may enter it may use the daemon, so only its owner may. */
export function preparePrivateFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  } catch (cause) {
    const code = cause instanceof Error && "code" in cause ? String(cause.code) : String(cause);
    throw new AgentKernelError("conflict", `${escapeText(folder)}, the daemon's folder, cannot be made (${code})`, {
      hint: "make the folder above it yours and writable, or name another with XDG_RUNTIME_DIR or XDG_STATE_HOME",
      cause,
    });
  }
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

/** For a path that was needed only for a moment. */
export function closeShortPath(path: string): void {
  closeSync(Number(basename(path)));
}

const OF_PROCESS = /\.sock\.(\d+)$/;

/** A name that no other process uses. */
export function freshName(socketName: string): string {
  return `${socketName}.${process.pid}`;
}

/** Removes what killed daemons left. One that has handed over may still work, and keeps what is its own. */
export function clearSockets({ folder }: Pick<DaemonPlace, "folder">): void {
  for (const name of readdirSync(folder)) {
    const pid = Number(OF_PROCESS.exec(name)?.[1] ?? 0);
    if (pid > 0 && !isAlive(pid)) rmSync(join(folder, name), { force: true });
  }
}

function isAlive(pid: number): boolean {
  return statSync(`/proc/${pid}`, { throwIfNoEntry: false }) !== undefined;
}
