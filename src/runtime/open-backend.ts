/** The backend that sandboxes use. */
import { linuxBackend } from "../backends/linux/index.js";
import type { Backend } from "../core/backend.js";
import { nativeBinary } from "../core/native-binary.js";
import { journalFolder } from "../core/state-folders.js";
import type { Surroundings } from "../core/surroundings.js";
import { pooledBackend } from "./pool/pooled-backend.js";
import type { Resident } from "./resident.js";

/** Of what is built ahead, as much as starting a sandbox needs. */
type Ahead = Pick<Resident, "jails" | "pool">;

/** Where state lies, and what is kept ready where one process serves many. */
export interface RuntimeHost extends Pick<Surroundings, "env" | "homeDir"> {
  readonly resident: Pick<Resident, "jails" | "pool" | "wasm" | "meter"> | null;
}

/** As much of it as backends are made from. */
export interface BackendHost extends Pick<Surroundings, "env" | "homeDir"> {
  readonly resident: Ahead | null;
}

export function openBackend(host: BackendHost): Backend {
  const backend = jailsWith(nativeBinary("ak-guest"), host);
  return host.resident ? pooledBackend(backend, host.resident.pool) : backend;
}

/** Jails whose first process is this program. None of them is built ahead. */
export function jailsWith(guestBinary: string, { env, homeDir, resident }: BackendHost): Backend {
  return linuxBackend({
    jailBinary: nativeBinary("ak-jail"),
    guestBinary,
    journalDir: journalFolder(env, homeDir),
    ...(resident ? { starter: resident.jails } : {}),
  });
}
