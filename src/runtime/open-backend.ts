/** The backend that sandboxes use. */
import { dockerBackend } from "../backends/docker/index.js";
import { linuxBackend } from "../backends/linux/index.js";
import { podmanBackend } from "../backends/podman/index.js";
import type { Backend, BackendName } from "../core/backend.js";
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

export function openBackend(host: RuntimeHost, name: BackendName = "linux"): Backend {
  const backend = name === "docker" || name === "podman" ? engine(host, name) : linux(host);
  return host.resident ? pooledBackend(backend, host.resident.pool) : backend;
}

/** The backend of sandboxes that stay, each on the one that it was made for. */
export function openKeeper(host: RuntimeHost): Backend {
  const backend = openBackend(host);
  const { kept } = backend;
  if (kept === undefined) return backend;
  const engines = new Map<BackendName, Backend>();
  const engineKept = (name: "docker" | "podman") => {
    const found = engines.get(name) ?? engine(host, name);
    engines.set(name, found);
    return found.kept;
  };
  return { ...backend, kept: keptOnEach(kept, engineKept) };
}

function engine({ env, homeDir }: RuntimeHost, name: "docker" | "podman"): Backend {
  const programs = { entryBinary: nativeBinary("ak-entry"), guestBinary: nativeBinary("ak-guest") };
  const options = { programs, env: { ...env, HOME: homeDir }, folder: engineFolder(env, homeDir) };
  return name === "docker" ? dockerBackend(options) : podmanBackend(options);
}

function linux({ env, homeDir, resident }: RuntimeHost): Backend {
  return linuxBackend({
    jailBinary: nativeBinary("ak-jail"),
    guestBinary: nativeBinary("ak-guest"),
    journalDir: journalFolder(env, homeDir),
    ...(resident ? { starter: resident.jails } : {}),
  });
}
