/**
 * Kept sandboxes on several backends, as one: a new one goes to the backend that its image belongs to, and one that is
 * there to the backend whose record lies in its folder.
 */
import { recordedEngine } from "../backends/engine/persistent/engine-of.js";
import type { MonitorProgram } from "../backends/microvm/monitor.js";
import { recordedMonitor } from "../backends/microvm/persistent/monitor-of.js";
import type { PersistentBackend } from "../core/backend.js";
import type { PersistentChanges } from "../core/changes.js";
import type { EngineKind } from "../core/engine-socket.js";
import { AgentKernelError } from "../core/errors.js";

interface OtherKeepers {
  readonly engine: (kind: EngineKind) => PersistentBackend | undefined;
  readonly machine: (monitor: MonitorProgram) => PersistentBackend | undefined;
}

export function persistentOnEach(usual: PersistentBackend, { engine, machine }: OtherKeepers): PersistentBackend {
  const on = (kind: EngineKind | "apple" | null): PersistentBackend => {
    const found = kind === null ? usual : kind === "apple" ? undefined : engine(kind);
    if (found === undefined) throw new AgentKernelError("unsupported", `${kind} keeps no sandboxes`);
    return found;
  };
  const of = (stateDir: string): PersistentBackend => {
    const monitor = recordedMonitor(stateDir);
    return (monitor === null ? undefined : machine(monitor)) ?? on(recordedEngine(stateDir));
  };
  const changes = changesOn((stateDir) => {
    const found = of(stateDir).changes;
    if (found === undefined) throw new AgentKernelError("unsupported", "what the sandbox changed cannot be told");
    return found;
  });
  return {
    start: (spec, stateDir, signal) => {
      const { image } = spec;
      return on(image.kind === "engine" ? image.engine : null).start(spec, stateDir, signal);
    },
    adopt: async (stateDir) => await of(stateDir).adopt(stateDir),
    lastEnd: async (stateDir) => await of(stateDir).lastEnd(stateDir),
    remove: async (stateDir) => await of(stateDir).remove(stateDir),
    changes,
    copies: {
      of: "files and memory",
      async make(stateDir, into, ...rest) {
        const { copies } = of(stateDir);
        if (copies !== undefined) return await copies.make(stateDir, into, ...rest);
        throw new AgentKernelError("unsupported", "the sandbox's backend makes no copies of sandboxes");
      },
    },
  };
}

function changesOn(of: (stateDir: string) => PersistentChanges): PersistentChanges {
  return {
    list: async (stateDir, ...rest) => await of(stateDir).list(stateDir, ...rest),
    patch: (stateDir, ...rest) => of(stateDir).patch(stateDir, ...rest),
    apply: async (stateDir, ...rest) => await of(stateDir).apply(stateDir, ...rest),
  };
}
