/** The backend that a run uses. */
import { homedir } from "node:os";
import { linuxBackend } from "../../backends/linux/index.js";
import type { Backend } from "../../core/backend.js";
import { nativeBinary } from "../../core/native-binary.js";
import { journalFolder } from "../../core/state-folders.js";

export function openBackend(): Backend {
  return linuxBackend({
    jailBinary: nativeBinary("ak-jail"),
    guestBinary: nativeBinary("ak-guest"),
    journalDir: journalFolder(process.env, homedir()),
  });
}
