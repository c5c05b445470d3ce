/** Containers that are started before anybody asks for one, and get their order when somebody does. Each serves once. */
import { randomBytes } from "node:crypto";
import type { BootSpec, WarmSandbox, WarmShape } from "../../core/backend.js";
import { takeOnce } from "../../core/take-once.js";
import { engineImage } from "./container-spec.js";
import type { Engine } from "./engine.js";
import { RunContainer } from "./run-container.js";
import { hasLive } from "./shown-views.js";
import { startContainer } from "./start-container.js";

/** Null where something of the host's is held for as long as a sandbox shows it. */
export function warmShape(engine: Engine, spec: BootSpec): WarmShape | null {
  if (hasLive(engine.views.of(spec, false))) return null;
  return {
    key: JSON.stringify([engine.kind, engineImage(spec.image), fixedParts(engine, spec)]),
    label: labelOf(engine, spec),
    build: (signal) => buildWarm(engine, withoutCaller(spec), signal),
  };
}

/** What an engine fixes when it makes a container. */
function fixedParts(engine: Engine, spec: BootSpec): object {
  const { copied, live } = engine.views.of(spec, false);
  const { net, fs, proc, resources } = spec.policy;
  return {
    network: net.egress === "off" ? "none" : "captured",
    rootReadonly: fs.rootReadonly,
    tmpMiB: fs.tmpMiB,
    seccomp: proc.seccomp,
    limits: [resources.vcpus, resources.memoryMiB, resources.pids, resources.openFiles, resources.diskMiB],
    targets: copied.map(({ target }) => target),
    // An engine mounts what is shown when it makes a container.
    shown: live,
  };
}

/** Its name and host name are its own: an engine cannot change them later. */
function withoutCaller(spec: BootSpec): BootSpec {
  const id = `warm-${randomBytes(6).toString("hex")}`;
  return { ...spec, id, hostname: id };
}

function labelOf({ kind }: Engine, { image, policy }: BootSpec): string {
  const id = engineImage(image).replace("sha256:", "").slice(0, 12);
  const network = policy.net.egress === "off" ? "none" : "captured";
  const root = policy.fs.rootReadonly ? [", read-only root"] : [];
  return `${kind} image ${id}, workspace ${policy.fs.workspace.mode}, network ${network}${root.join("")}`;
}

async function buildWarm(engine: Engine, spec: BootSpec, signal: AbortSignal): Promise<WarmSandbox> {
  const views = engine.views.of(spec, false);
  const container = new RunContainer(await startContainer(engine, spec, { kind: "warm", views, signal }));
  return takeOnce({
    gone: container.ended,
    // An engine cannot change a host name later.
    take: (own, taker, onStream) =>
      container.boot(engine, { ...own, hostname: spec.hostname }, { signal: taker, onStream }),
    discard: async () => {
      await container.kill().catch(() => {});
      await container.removed;
    },
  });
}
