/**
 * Sandboxes in containers of an engine that is there already: Docker, or Podman by the same API. This folder turns a
 * policy into a container and speaks to the program that is its process 1. It never touches a container without our
 * labels, never gives one a network of the engine's, and never shows what runs in one a folder with its hidden files.
 */
import type { Backend, Lack } from "../../core/backend.js";
import { type EngineEnvironment, type EngineKind, engineSocket } from "../../core/engine-socket.js";
import { AgentKernelError } from "../../core/errors.js";
import { sweepProjects } from "../entry/copied-project.js";
import type { ShownViews } from "../entry/views.js";
import { EngineClient } from "./client.js";
import type { ProgramPaths } from "./container-spec.js";
import { Engine } from "./engine.js";
import { findEngineImage } from "./images.js";
import { persistentContainers } from "./persistent/index.js";
import { RunContainer } from "./run-container.js";
import { copiedAsFarAsPossible, copiedLayer, isRefusal } from "./shown-views.js";
import { startContainer } from "./start-container.js";
import { hasAbandoned, sweepOrphans } from "./sweep.js";
import { warmShape } from "./warm-container.js";

export interface EngineBackendOptions {
  readonly programs: ProgramPaths;
  readonly env: EngineEnvironment;
  /** A folder of the user's own for files that containers are shown. */
  readonly folder: string;
}

export const engineLacks: readonly Lack[] = [
  {
    capability: "limit-disk",
    reason: "the engine's storage has no quota: only /tmp, /dev/shm and /workspace are limited",
  },
];

export function engineBackend(kind: EngineKind, { programs, env, folder }: EngineBackendOptions): Backend {
  let opened: Engine | null = null;
  const engine = (): Engine => {
    opened ??= new Engine({ kind, client: new EngineClient(socketOf(kind, env)), programs, folder });
    return opened;
  };
  let isSwept = false;
  return {
    name: kind,
    lacks: engineLacks,
    async boot(spec, signal, onStream) {
      // What others left does not keep this one waiting. The next one tries again where it fails.
      const sweep = () => {
        if (isSwept && !hasAbandoned()) return;
        isSwept = true;
        Promise.all([sweepOrphans(engine().client), sweepProjects(folder)]).catch(() => {
          isSwept = false;
        });
      };
      const start = async (views: ShownViews) => {
        const started = await startContainer(engine(), spec, { kind: "run", views, signal, onStream, beside: sweep });
        return await new RunContainer(started).boot(engine(), spec, { signal, onStream });
      };
      const views = engine().views.of(spec, false);
      try {
        return await start(views);
      } catch (error) {
        if (signal?.aborted === true || !isRefusal(views, error)) throw error;
        const booted = await start(copiedAsFarAsPossible(spec));
        engine().views.refuse(spec, error);
        return { ...booted, layers: [...booted.layers, copiedLayer(error.message)] };
      }
    },
    kept: persistentContainers(engine),
    shapeOf: (spec) => warmShape(engine(), spec),
    findImage: (request) => findEngineImage(engine(), request),
  };
}

function socketOf(kind: EngineKind, env: EngineEnvironment): string {
  const socket = engineSocket(kind, env);
  if (socket !== null) return socket;
  const [name, start] =
    kind === "docker"
      ? ["Docker", "start it, or name its socket in DOCKER_HOST=unix://…"]
      : ["Podman", "start its service (systemctl --user start podman.socket), or name its socket in CONTAINER_HOST"];
  throw new AgentKernelError("backend_unavailable", `no ${name} engine listens on this machine`, { hint: start });
}
