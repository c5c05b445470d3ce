/** The backend that a run uses. */
import { homedir } from "node:os";
import { join } from "node:path";
import { linuxBackend } from "../../backends/linux/index.js";
import type { Backend } from "../../core/backend.js";
import { nativeBinary } from "../../core/native-binary.js";

export function openBackend(): Backend {
  const state = process.env.XDG_STATE_HOME ?? join(homedir(), ".local", "state");
  return linuxBackend({
    jailBinary: nativeBinary("ak-jail"),
    guestBinary: nativeBinary("ak-guest"),
    journalDir: join(state, "agentkernel", "journal"),
  });
}
