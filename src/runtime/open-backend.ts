/** The linux backend, which every other choice falls back to, the engines, and what is started for them. */
import { dockerBackend } from "../backends/docker/index.js";
import { linuxBackend } from "../backends/linux/index.js";
import type { JailPrograms } from "../backends/linux/jail-process.js";
import { podmanBackend } from "../backends/podman/index.js";
import type { Backend, BackendName } from "../core/backend.js";
import type { EngineKind } from "../core/engine-socket.js";
import { nativeBinary } from "../core/native-binary.js";
import { engineFolder, journalFolder } from "../core/state-folders.js";
import type { Surroundings } from "../core/surroundings.js";
import { keptOnEach } from "./kept-backends.js";
import { pooledBackend } from "./pool/pooled-backend.js";
import type { Resident } from "./resident.js";

/** Where state lies, and what is kept ready where one process serves many. */
export interface RuntimeHost extends Pick<Surroundings, "env" | "homeDir"> {
  readonly resident: Pick<Resident, "jails" | "pool" | "meter"> | null;
  /** The look ahead that was made for this caller: see `WarmPool.foresee`. */
  readonly foreseen?: number | null;
}

export function jailPrograms({ env, homeDir, resident }: RuntimeHost): JailPrograms {
  return {
    jailBinary: nativeBinary("ak-jail"),
    guestBinary: nativeBinary("ak-guest"),
    journalDir: journalFolder(env, homeDir),
    ...(resident ? { starter: resident.jails } : {}),
  };
}

/** Without the sandboxes that are built ahead. */
export function openLinux(host: RuntimeHost): Backend {
  return linuxBackend(jailPrograms(host));
}

export function openBackend(host: RuntimeHost): Backend {
  return pooled(host, openLinux(host));
}

export function openEngine(host: RuntimeHost, kind: EngineKind): Backend {
  return pooled(host, engine(host, kind));
}

/** The backend of sandboxes that stay, each on the one that it was made for. */
export function openKeeper(host: RuntimeHost): Backend {
  const backend = openBackend(host);
  const { kept } = backend;
  if (kept === undefined) return backend;
  const engines = new Map<BackendName, Backend>();
  const engineKept = (kind: EngineKind) => {
    const found = engines.get(kind) ?? engine(host, kind);
    engines.set(kind, found);
    return found.kept;
  };
  return { ...backend, kept: keptOnEach(kept, engineKept) };
}

function engine({ env, homeDir }: RuntimeHost, kind: EngineKind): Backend {
  const programs = { entryBinary: nativeBinary("ak-entry"), guestBinary: nativeBinary("ak-guest") };
  const options = { programs, env: { ...env, HOME: homeDir }, folder: engineFolder(env, homeDir) };
  return kind === "docker" ? dockerBackend(options) : podmanBackend(options);
}

function pooled({ resident }: RuntimeHost, backend: Backend): Backend {
  return resident ? pooledBackend(backend, resident.pool) : backend;
}
