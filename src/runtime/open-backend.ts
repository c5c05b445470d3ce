/** The backend that sandboxes use. */
import { linuxBackend } from "../backends/linux/index.js";
import type { Backend } from "../core/backend.js";
import { nativeBinary } from "../core/native-binary.js";
import { journalFolder } from "../core/state-folders.js";
import type { Surroundings } from "../core/surroundings.js";
import { pooledBackend } from "./pool/pooled-backend.js";
import type { Resident } from "./resident.js";

/** Where state lies, and what is kept ready where one process serves many. */
export interface RuntimeHost extends Pick<Surroundings, "env" | "homeDir"> {
  readonly resident: Pick<Resident, "jails" | "pool" | "meter"> | null;
  /** The look ahead that was made for this caller: see `WarmPool.foresee`. */
  readonly foreseen?: number | null;
}

export function openBackend({ env, homeDir, resident }: RuntimeHost): Backend {
  const backend = linuxBackend({
    jailBinary: nativeBinary("ak-jail"),
    guestBinary: nativeBinary("ak-guest"),
    journalDir: journalFolder(env, homeDir),
    ...(resident ? { starter: resident.jails } : {}),
  });
  return resident ? pooledBackend(backend, resident.pool) : backend;
}
