/** The linux backend, which every other choice falls back to, and what is started for it. */
import { linuxBackend } from "../backends/linux/index.js";
import type { JailPrograms } from "../backends/linux/jail-process.js";
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

/** With the sandboxes that are built ahead, where there is somebody who builds them. */
export function pooled({ resident }: RuntimeHost, backend: Backend): Backend {
  return resident ? pooledBackend(backend, resident.pool) : backend;
}
