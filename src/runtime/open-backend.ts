/** The linux backend, which every other choice falls back to, and what is started for it. */
import { linuxBackend } from "../backends/linux/index.js";
import type { JailPrograms } from "../backends/linux/jail-process.js";
import type { Backend } from "../core/backend.js";
import { nativeBinary } from "../core/native-binary.js";
import { journalFolder } from "../core/state-folders.js";
import type { Surroundings } from "../core/surroundings.js";
import { pooledBackend } from "./pool/pooled-backend.js";
import type { Resident } from "./resident.js";

/** The part of what is built ahead that starting a sandbox uses. */
type Ahead = Pick<Resident, "jails" | "pool">;

/** Where state lies, and what is kept ready where one process serves many. */
export interface RuntimeHost extends Pick<Surroundings, "env" | "homeDir"> {
  readonly resident: Pick<Resident, "jails" | "pool" | "wasm" | "templates" | "moduleAudit" | "meter"> | null;
  /** The look ahead that was made for this caller: see `WarmPool.prescan`. */
  readonly prescan?: number | null;
}

/** As much of it as jails are made from. */
export interface JailHost extends Pick<Surroundings, "env" | "homeDir"> {
  readonly resident: Ahead | null;
}

export function jailPrograms({ env, homeDir, resident }: JailHost): JailPrograms {
  return {
    jailBinary: nativeBinary("ak-jail"),
    guestBinary: nativeBinary("ak-guest"),
    journalDir: journalFolder(env, homeDir),
    ...(resident ? { starter: resident.jails } : {}),
  };
}

/** Jails whose first process is this program. None of them is built ahead. */
export function jailsWith(guestBinary: string, host: JailHost): Backend {
  return linuxBackend({ ...jailPrograms(host), guestBinary });
}

/** Without the sandboxes that are built ahead. */
export function openLinux(host: JailHost): Backend {
  return linuxBackend(jailPrograms(host));
}

type Environment = JailHost["env"];

const opened = new WeakMap<Ahead, WeakMap<Environment, { readonly homeDir: string; readonly backend: Backend }>>();

/** The same for all runs of one environment: what they share in it is found again. */
export function openBackend(host: JailHost): Backend {
  const { env, homeDir, resident } = host;
  if (resident === null || !Object.isFrozen(env)) return pooled(host, openLinux(host));
  const byEnvironment = opened.get(resident) ?? new WeakMap();
  opened.set(resident, byEnvironment);
  const known = byEnvironment.get(env);
  if (known?.homeDir === homeDir) return known.backend;
  const backend = pooled(host, openLinux(host));
  byEnvironment.set(env, { homeDir, backend });
  return backend;
}

/** With the sandboxes that are built ahead, where there is somebody who builds them. */
export function pooled({ resident }: JailHost, backend: Backend): Backend {
  return resident ? pooledBackend(backend, resident.pool) : backend;
}
