/**
 * Docker and Podman. An engine is asked what it is, and then runs a sandbox with nothing in it but our own programs:
 * an empty image is made for that and removed again, and no registry is asked for anything.
 */
import { randomBytes } from "node:crypto";
import { statSync } from "node:fs";
import { EngineClient } from "../../backends/engine/client.js";
import { ENTRY } from "../../backends/engine/container-spec.js";
import { engineLacks } from "../../backends/engine/index.js";
import { probeEngine } from "../../backends/engine/probe.js";
import { type EngineKind, engineSockets } from "../../core/engine-socket.js";
import { AgentKernelError, isAgentKernelError } from "../../core/errors.js";
import type { RuntimeHost } from "../open-backend.js";
import { openEngine } from "../open-engine.js";
import { bootAndRun } from "./boot-proof.js";
import type { Candidate } from "./candidates.js";
import { failing, working } from "./proof.js";

/** An archive with nothing in it. */
const EMPTY_TAR = Buffer.alloc(1024);
const nextSteps: Readonly<Record<EngineKind, string>> = {
  docker: "install and start Docker, or name its socket in DOCKER_HOST=unix://…",
  podman:
    "install Podman and start its service (systemctl --user start podman.socket), or name its socket in CONTAINER_HOST",
};

export function engineCandidate(kind: EngineKind): Candidate {
  return {
    lacks: engineLacks,
    identity: (host) => identityOf(kind, host),

    async prove(host, signal) {
      const { available, reason, version, socket, rootless } = await probeEngine(kind, environment(host));
      if (!available || socket === null) return failing(reason ?? "no engine answers", nextSteps[kind]);
      try {
        const { ms } = await withEmptyImage(new EngineClient(socket), async (id) => {
          const backend = openEngine(host, kind, socket);
          return await bootAndRun(backend, signal, [ENTRY, "true"], { kind: "engine", engine: kind, id });
        });
        const engine = `version ${version}${rootless ? ", rootless" : ""}`;
        return working(`${engine}, booted a sandbox in ${ms.toFixed(0)} ms`, { socket });
      } catch (error) {
        signal?.throwIfAborted();
        const hint = isAgentKernelError(error) ? error.hint : undefined;
        const message = error instanceof Error ? error.message : String(error);
        return failing(`version ${version} runs no sandbox: ${message}`, hint ?? nextSteps[kind]);
      }
    },

    open: (host, { facts: { socket = null } }) => openEngine(host, kind, socket),
  };
}

/** A proof is for the sockets that are there; another one may be another engine. */
function identityOf(kind: EngineKind, host: RuntimeHost): string | null {
  try {
    const sockets = engineSockets(kind, environment(host)).map((path) => {
      const { dev, ino, ctimeMs } = statSync(path);
      return [path, dev, ino, ctimeMs].join(":");
    });
    return sockets.length === 0 ? null : sockets.join("\n");
  } catch {
    // Whoever asks the engine is told why it cannot be found.
    return null;
  }
}

function environment({ env, homeDir }: RuntimeHost) {
  return { ...env, HOME: homeDir };
}

async function withEmptyImage<T>(client: EngineClient, use: (id: string) => Promise<T>): Promise<T> {
  const query = { fromSrc: "-", repo: "localhost/agentkernel-proof", tag: randomBytes(6).toString("hex") };
  let answer = "";
  for await (const line of client.lines("/images/create", { query, body: EMPTY_TAR })) answer += JSON.stringify(line);
  // By its id: Podman gives no name to what it imports.
  const id = /sha256:[0-9a-f]{64}/.exec(answer)?.[0];
  if (id === undefined) throw new AgentKernelError("backend_unavailable", "the engine takes no images");
  try {
    return await use(id);
  } finally {
    // By force, since Docker did give it a name. It is as new as its name, so it is nobody else's.
    await client.delete(`/images/${id}`, { query: { force: "true" } }).catch(() => {});
  }
}
