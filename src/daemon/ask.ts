/** Asks a running daemon something, over its socket. */

import { statSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { AgentKernelError } from "../core/errors.js";
import { isFileError } from "./file-error.js";
import { shortPath } from "./socket-folder.js";
import type { DaemonPlace } from "./socket-place.js";

/** The data of the answer; null where no daemon is up. */
export async function askDaemon(place: DaemonPlace, method: "GET" | "POST", path: string): Promise<unknown> {
  if (statSync(place.folder, { throwIfNoEntry: false }) === undefined) return null;
  const socketPath = join(shortPath(place.folder), place.socketName);
  let text: string;
  try {
    text = await exchange(socketPath, method, path);
  } catch (error) {
    if (isFileError(error, "ENOENT", "ECONNREFUSED")) return null;
    throw new AgentKernelError("internal", `the daemon does not answer: ${reasonOf(error)}`, {
      hint: `its log may say why: ${place.logPath}`,
      cause: error,
    });
  }
  const answer = JSON.parse(text) as { readonly success?: unknown; readonly data?: unknown };
  if (answer.success !== true) throw new AgentKernelError("internal", `the daemon refused ${method} ${path}`);
  return answer.data ?? {};
}

function exchange(socketPath: string, method: string, path: string): Promise<string> {
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
    asked.once("error", reject);
    asked.end();
  });
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
