/** Asks a running daemon something, over its socket. */

import { statSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { AgentKernelError } from "../core/errors.js";
import { isFileError } from "./file-error.js";
import { closeShortPath, shortPath } from "./socket-folder.js";
import type { DaemonPlace } from "./socket-place.js";

/** Ending what runs takes its time; a question about itself does not. */
const PATIENCE_MS = { GET: 5000, POST: 45_000 } as const;

/** The data of the answer; null where no daemon is up. */
export async function askDaemon(place: DaemonPlace, method: "GET" | "POST", path: string): Promise<unknown> {
  if (!hasFolder(place)) return null;
  const short = shortPath(place.folder);
  let text: string;
  try {
    text = await exchange(join(short, place.socketName), method, path);
  } catch (error) {
    if (isFileError(error, "ENOENT", "ECONNREFUSED") || isNeverTaken(error)) return null;
    throw new AgentKernelError("internal", `the daemon does not answer: ${reasonOf(error)}`, {
      hint: `its log may say why: ${place.logPath}`,
      cause: error,
    });
  } finally {
    closeShortPath(short);
  }
  const answer = JSON.parse(text) as { readonly success?: unknown; readonly data?: unknown };
  if (answer.success !== true) throw new AgentKernelError("internal", `the daemon refused ${method} ${path}`);
  return answer.data ?? {};
}

/** Whether it closed its socket before it took the connection: nothing was asked. */
function isNeverTaken(error: unknown): boolean {
  return isFileError(error, "ECONNRESET") && (error as NodeJS.ErrnoException).syscall === "connect";
}

/** Whether the daemon ended instead of answering. */
export function isCutOff(error: unknown): boolean {
  return error instanceof AgentKernelError && isFileError(error.cause, "ECONNRESET", "EPIPE");
}

function hasFolder({ folder }: DaemonPlace): boolean {
  try {
    return statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true;
  } catch (cause) {
    if (isFileError(cause, "ENOTDIR")) return false;
    throw new AgentKernelError("conflict", `${folder}, the daemon's folder, cannot be reached: ${reasonOf(cause)}`, {
      hint: "make the folders above it yours, or name another with XDG_RUNTIME_DIR or XDG_STATE_HOME",
      cause,
    });
  }
}

function exchange(socketPath: string, method: keyof typeof PATIENCE_MS, path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const asked = request({ socketPath, method, path, headers: { connection: "close" } }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => {
        text += chunk;
      });
      response.once("end", () => resolve(text));
      response.once("error", reject);
    });
    const patienceMs = PATIENCE_MS[method];
    asked.setTimeout(patienceMs, () => asked.destroy(new Error(`nothing came within ${patienceMs / 1000} s`)));
    asked.once("error", reject);
    asked.end();
  });
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
