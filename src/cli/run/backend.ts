/** The backend that a run uses. */
import { linuxBackend } from "../../backends/linux/index.js";
import type { Backend } from "../../core/backend.js";
import { nativeBinary } from "../../core/native-binary.js";
import { journalFolder } from "../../core/state-folders.js";
import { pooledBackend } from "../../runtime/pool/pooled-backend.js";
import type { Invocation } from "../invocation/index.js";

export function openBackend({ env, homeDir, resident }: Pick<Invocation, "env" | "homeDir" | "resident">): Backend {
  const backend = linuxBackend({
    jailBinary: nativeBinary("ak-jail"),
    guestBinary: nativeBinary("ak-guest"),
    journalDir: journalFolder(env, homeDir),
    ...(resident ? { starter: resident.jails } : {}),
  });
  return resident ? pooledBackend(backend, resident.pool) : backend;
}
