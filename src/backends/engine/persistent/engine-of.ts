/** Which engine has the container, or the image, of the sandbox with this state folder; null where none has. */
import type { EngineKind } from "../../../core/engine-socket.js";
import { readRecord } from "./record.js";
import { readSaved } from "./saved.js";

export function recordedEngine(stateDir: string): EngineKind | null {
  return readRecord(stateDir)?.engine ?? readSaved(stateDir)?.engine ?? null;
}
