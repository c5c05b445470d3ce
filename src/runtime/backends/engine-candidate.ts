/** Docker and Podman. Their images are their own, so that nothing could be booted before a run: the engine is asked. */
import { engineLacks } from "../../backends/engine/index.js";
import { probeEngine } from "../../backends/engine/probe.js";
import { type EngineKind, engineSocket } from "../../core/engine-socket.js";
import { openEngine } from "../open-backend.js";
import type { Candidate } from "./candidates.js";
import { failing, working } from "./proof.js";

const nextSteps: Readonly<Record<EngineKind, string>> = {
  docker: "start Docker, or name its socket in DOCKER_HOST=unix://…",
  podman: "start Podman's service (systemctl --user start podman.socket), or name its socket in CONTAINER_HOST",
};

export function engineCandidate(kind: EngineKind): Candidate {
  return {
    lacks: engineLacks,
    identity({ env, homeDir }) {
      try {
        return engineSocket(kind, { ...env, HOME: homeDir });
      } catch {
        // An address that cannot be used is told by whoever asks the engine.
        return null;
      }
    },
    async prove({ env, homeDir }) {
      const { available, reason, version, rootless } = await probeEngine(kind, { ...env, HOME: homeDir });
      if (!available) return failing(reason ?? "the engine does not answer", nextSteps[kind]);
      return working(`the engine answers, version ${version}${rootless ? ", rootless" : ""}`);
    },
    open: (host) => openEngine(host, kind),
  };
}
