/** The backends on engines, and the one that finds every sandbox that stays. Loaded only where somebody needs them. */
import { engineBackend } from "../backends/engine/index.js";
import type { MonitorProgram } from "../backends/microvm/monitor.js";
import type { Backend } from "../core/backend.js";
import { type EngineKind, engineVariable } from "../core/engine-socket.js";
import { nativeBinary } from "../core/native-binary.js";
import { engineFolder } from "../core/state-folders.js";
import { openBackend, type RuntimeHost } from "./open-backend.js";
import { openMicrovm } from "./open-microvm.js";
import { persistentOnEach } from "./persistent-backends.js";

/** At the socket that is named, or else the first that its own tools would use. */
export function openEngine({ env, homeDir }: RuntimeHost, kind: EngineKind, socket: string | null = null): Backend {
  const programs = { entryBinary: nativeBinary("ak-entry"), guestBinary: nativeBinary("ak-guest") };
  const named = socket === null ? {} : { [engineVariable(kind)]: `unix://${socket}` };
  return engineBackend(kind, {
    programs,
    env: { ...env, HOME: homeDir, ...named },
    folder: engineFolder(env, homeDir),
  });
}

/** The backend of sandboxes that stay, each on the one that it was made for. */
export function openKeeper(host: RuntimeHost): Backend {
  const backend = openBackend(host);
  const { kept } = backend;
  if (kept === undefined) return backend;
  const engines = new Map<EngineKind, Backend>();
  const persistentContainers = (kind: EngineKind) => {
    const found = engines.get(kind) ?? openEngine(host, kind);
    engines.set(kind, found);
    return found.kept;
  };
  const persistentMachine = (monitor: MonitorProgram) => openMicrovm(host, monitor).kept;
  return { ...backend, kept: persistentOnEach(kept, { engine: persistentContainers, machine: persistentMachine }) };
}
