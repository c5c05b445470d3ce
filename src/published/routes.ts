/** Which code serves which request of a published SDK. */
import type { Scope } from "../api/operations/operation.js";
import { AgentKernelError } from "../core/errors.js";
import type { PublishedHandler } from "./call.js";
import { missing } from "./missing.js";
import * as runs from "./runs.js";
import * as sandboxes from "./sandboxes.js";

interface Route {
  readonly handle: PublishedHandler;
  /** Null: nobody is asked who they are. */
  readonly scope: readonly Scope[] | null;
}

const running: readonly Scope[] = ["run"];
const reading: readonly Scope[] = ["read", "sandboxes"];
const working: readonly Scope[] = ["sandboxes"];
const health: PublishedHandler = async () => "ok";

/** `{}` stands for one segment, `{…}` for all that follow. The first that fits. */
const routes: readonly (readonly [string, readonly Scope[] | null, PublishedHandler])[] = [
  ["GET /health", null, health],
  ["POST /run", running, runs.run],
  ["POST /run/stream", running, runs.runStream],
  ["POST /batch/run", running, runs.batch],
  ["GET /sandboxes", reading, sandboxes.listAll],
  ["POST /sandboxes", working, sandboxes.create],
  ["GET /sandboxes/by-uuid/{}", reading, sandboxes.getById],
  ["GET /sandboxes/{}", reading, sandboxes.get],
  ["DELETE /sandboxes/{}", working, sandboxes.remove],
  ["GET /sandboxes/{}/logs", reading, sandboxes.logs],
  ["POST /sandboxes/{}/exec", working, sandboxes.exec],
  ["POST /sandboxes/{}/exec/detach", working, sandboxes.detach],
  ["GET /sandboxes/{}/exec/detached", reading, sandboxes.detachedList],
  ["GET /sandboxes/{}/exec/detached/{}", reading, sandboxes.detachedStatus],
  ["GET /sandboxes/{}/exec/detached/{}/logs", reading, sandboxes.detachedLogs],
  ["DELETE /sandboxes/{}/exec/detached/{}", working, sandboxes.detachedKill],
  ["POST /sandboxes/{}/extend", working, sandboxes.extend],
  ["POST /sandboxes/{}/files", working, runs.writeFiles],
  ["GET /sandboxes/{}/files/{…}", reading, runs.readFile],
  ["PUT /sandboxes/{}/files/{…}", working, runs.writeFile],
  ["DELETE /sandboxes/{}/files/{…}", working, runs.removeFile],
  ["GET /snapshots", reading, sandboxes.listSnapshots],
  ["POST /snapshots", working, sandboxes.takeSnapshot],
  ["GET /snapshots/{}", reading, sandboxes.getSnapshot],
  ["DELETE /snapshots/{}", working, sandboxes.removeSnapshot],
  ["POST /snapshots/{}/restore", working, sandboxes.restoreSnapshot],
];

/** What has no counterpart, by the first word of the path. */
const absent: ReadonlyMap<string, string> = new Map([
  ["orchestrations", "run commands, or batch/run, from a program of yours"],
  ["objects", "keep state in a sandbox that stays, or in a database"],
  ["schedules", "use cron or a timer of systemd with agentkernel run"],
  ["stores", "run a database in a sandbox that stays"],
  ["backends", "agentkernel doctor shows what isolates"],
]);

export function routeOf(method: string, url: string): Route & { readonly params: readonly string[] } {
  const segments = segmentsOf(url);
  for (const [route, scope, handle] of routes) {
    const [wantedMethod, path = ""] = route.split(" ");
    const wanted = path.split("/").slice(1);
    if (wantedMethod !== method || !fits(wanted, segments)) continue;
    return { handle, scope, params: segments.filter((_, at) => wanted[at] === "{}") };
  }
  const [first = ""] = segments;
  const instead = absent.get(first);
  if (instead !== undefined) throw missing(first, instead);
  throw new AgentKernelError("not_found", "there is nothing at this path");
}

function fits(wanted: readonly string[], given: readonly string[]): boolean {
  const isOpen = wanted.at(-1) === "{…}";
  if (isOpen ? given.length < wanted.length : given.length !== wanted.length) return false;
  return wanted.every((segment, at) => segment.startsWith("{") || segment === given[at]);
}

function segmentsOf(url: string): readonly string[] {
  const [path = ""] = url.split("?", 1);
  try {
    return path.split("/").slice(1).map(decodeURIComponent);
  } catch (cause) {
    throw new AgentKernelError("invalid_argument", "the path has a percent sign that encodes no character", {
      details: { field: "path" },
      cause,
    });
  }
}
