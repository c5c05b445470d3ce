/** Whether an engine can be used, found out by asking it. */

import { type EngineEnvironment, type EngineKind, engineSockets } from "../../core/engine-socket.js";
import { isAgentKernelError } from "../../core/errors.js";
import { EngineClient } from "./client.js";

interface EngineProbe {
  readonly available: boolean;
  /** Why not. */
  readonly reason: string | null;
  readonly version: string | null;
  readonly socket: string | null;
  readonly rootless: boolean;
  readonly runtimes: readonly string[];
}

const PATIENCE_MS = 10_000;
const nothing = { version: null, socket: null, rootless: false, runtimes: [] } as const;

export async function probeEngine(kind: EngineKind, env: EngineEnvironment): Promise<EngineProbe> {
  try {
    let last: EngineProbe = { ...nothing, available: false, reason: `no ${nameOf(kind)} engine listens here` };
    // An engine that ended may have left its socket behind.
    for (const socket of engineSockets(kind, env)) {
      last = await ask(kind, socket).catch((error: unknown) => refused(socket, error));
      if (last.available) return last;
    }
    return last;
  } catch (error) {
    return refused(null, error);
  }
}

function refused(socket: string | null, error: unknown): EngineProbe {
  return { ...nothing, socket, available: false, reason: reasonOf(error) };
}

async function ask(kind: EngineKind, socket: string): Promise<EngineProbe> {
  const client = new EngineClient(socket);
  const signal = AbortSignal.timeout(PATIENCE_MS);
  const [version, info] = await Promise.all([client.get("/version", { signal }), client.get("/info", { signal })]);
  const security = member(info, "SecurityOptions");
  const runtimes = member(info, "Runtimes");
  const os = member(info, "OSType");
  const found = {
    version: String(member(version, "Version") ?? ""),
    socket,
    rootless: Array.isArray(security) && security.some((option) => String(option).includes("rootless")),
    runtimes: typeof runtimes === "object" && runtimes !== null ? Object.keys(runtimes).sort() : [],
  };
  if (os === "linux") return { ...found, available: true, reason: null };
  return { ...found, available: false, reason: `${nameOf(kind)} runs no Linux containers` };
}

function nameOf(kind: EngineKind): string {
  return kind === "docker" ? "Docker" : "Podman";
}

function member(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : null;
}

function reasonOf(error: unknown): string {
  if (isAgentKernelError(error)) return error.message;
  if (error instanceof Error && error.name === "TimeoutError") return "the engine does not answer in time";
  return error instanceof Error ? error.message : String(error);
}
