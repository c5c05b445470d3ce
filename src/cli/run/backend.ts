/** The backend that a run uses. */
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { linuxBackend } from "../../backends/linux/index.js";
import type { Backend } from "../../core/backend.js";
import { nativeBinary } from "../../core/native-binary.js";

export function openBackend(): Backend {
  // A value that is not absolute is to be ignored, by the specification of these variables.
  const { XDG_STATE_HOME: named = "" } = process.env;
  const state = isAbsolute(named) ? named : join(homedir(), ".local", "state");
  return linuxBackend({
    jailBinary: nativeBinary("ak-jail"),
    guestBinary: nativeBinary("ak-guest"),
    journalDir: join(state, "agentkernel", "journal"),
  });
}
