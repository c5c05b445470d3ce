/** Where a Docker or Podman engine listens on this machine, in the order in which their own tools look. */
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { AgentKernelError } from "./errors.js";

export type EngineKind = "docker" | "podman";
export type EngineEnvironment = Readonly<Record<string, string | undefined>>;

/** The variable that names an engine's socket. */
export function engineVariable(kind: EngineKind): string {
  return kind === "docker" ? "DOCKER_HOST" : "CONTAINER_HOST";
}

/** The socket that the user named, or the first usual one that is there; null where there is none. */
export function engineSocket(kind: EngineKind, env: EngineEnvironment): string | null {
  return engineSockets(kind, env)[0] ?? null;
}

/** Only the one that the user named, or all usual ones that are there: which of them has an engine is to be asked. */
export function engineSockets(kind: EngineKind, env: EngineEnvironment): readonly string[] {
  const variable = engineVariable(kind);
  const named = env[variable];
  if (named !== undefined && named !== "") return [unixPath(named, variable)];
  const chosen = kind === "docker" ? contextSocket(env) : null;
  return chosen === null ? usualPlaces(kind, env).filter((path) => existsSync(path)) : [chosen];
}

/** Only over a Unix socket: an engine elsewhere is another machine's. */
function unixPath(address: string, origin: string): string {
  if (address.startsWith("unix://")) return address.slice("unix://".length);
  throw new AgentKernelError("unsupported", `${origin} names an engine that is not on this machine`, {
    hint: `use a unix:// address in ${origin}`,
  });
}

function usualPlaces(kind: EngineKind, { XDG_RUNTIME_DIR: runtimeDir = "", HOME: home = "" }: EngineEnvironment) {
  const own = (folder: string, ...places: string[]) =>
    folder === "" ? [] : places.map((place) => join(folder, place));
  if (kind === "docker") {
    const ofHome = own(home, ".docker/run/docker.sock", ".docker/desktop/docker.sock");
    return [...own(runtimeDir, "docker.sock"), "/run/docker.sock", "/var/run/docker.sock", ...ofHome];
  }
  const machine = ".local/share/containers/podman/machine/podman.sock";
  return [...own(runtimeDir, "podman/podman.sock"), "/run/podman/podman.sock", ...own(home, machine)];
}

/** Reads the choice of `docker context use`. A context that cannot be read is an error: another engine was not asked for. */
function contextSocket(env: EngineEnvironment): string | null {
  const folder = env.DOCKER_CONFIG ?? join(env.HOME ?? "", ".docker");
  const name = env.DOCKER_CONTEXT ?? text(readJson(join(folder, "config.json")), "currentContext");
  if (name === null || name === "" || name === "default") return null;
  const digest = createHash("sha256").update(name).digest("hex");
  const meta = readJson(join(folder, "contexts", "meta", digest, "meta.json"));
  const host = text(field(field(meta, "Endpoints"), "docker"), "Host");
  if (host !== null) return unixPath(host, `the Docker context ${name}`);
  throw new AgentKernelError("backend_unavailable", `the Docker context ${name} cannot be read`, {
    hint: "choose another with docker context use, or name the engine's socket in DOCKER_HOST=unix://…",
  });
}

function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, "utf8")) as unknown;
  } catch (error) {
    if (error instanceof SyntaxError || (error instanceof Error && "code" in error)) return null;
    throw error;
  }
}

function field(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : null;
}

function text(value: unknown, name: string): string | null {
  const found = field(value, name);
  return typeof found === "string" ? found : null;
}
