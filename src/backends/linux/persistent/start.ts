/** Starts a kept sandbox and takes it over at once. */
import { spawn } from "node:child_process";
import type { Socket } from "node:net";
import type { BootSpec } from "../../../core/backend.js";
import { AgentKernelError } from "../../../core/errors.js";
import { type JailPrograms, readEvents } from "../jail-process.js";
import { type JailSpec, jailSpec } from "../jail-spec.js";
import { exitOf, JAIL_ENVIRONMENT, spawnFailure } from "../jail-start.js";
import { adoptPersistent } from "./adopt.js";
import { sweepPersistent } from "./jail-command.js";
import type { OwnedSandbox } from "./owned-sandbox.js";

const CONTROL_FD = 3;

export async function startPersistent(
  programs: JailPrograms,
  spec: BootSpec,
  stateDir: string,
  signal?: AbortSignal,
): Promise<OwnedSandbox> {
  return await startPersistentJail(programs, jailSpec(spec, programs), stateDir, signal);
}

export async function startPersistentJail(
  programs: JailPrograms,
  spec: JailSpec,
  stateDir: string,
  signal?: AbortSignal,
): Promise<OwnedSandbox> {
  signal?.throwIfAborted();
  const child = spawn(programs.jailBinary, ["keep"], {
    detached: true,
    env: JAIL_ENVIRONMENT,
    stdio: ["ignore", "ignore", process.env.AGENTKERNEL_DEBUG === "1" ? "inherit" : "ignore", "pipe"],
  });
  if (child.pid === undefined) throw await spawnFailure(child);
  // It is to live on when this process ends, and must not keep it from ending.
  child.unref();
  const control = child.stdio[CONTROL_FD] as Socket;
  control.on("error", () => {});
  const events = readEvents(control);
  const ended = exitOf(child);
  const kill = () => child.kill("SIGKILL");
  signal?.addEventListener("abort", kill, { once: true });
  try {
    control.write(`${JSON.stringify({ ...spec, state: stateDir })}\n`);
    const lost = ended.then(() => {
      throw events.failure() ?? new AgentKernelError("sandbox_died", "the process that owns the sandbox was killed");
    });
    await Promise.race([events.started, lost]);
    signal?.throwIfAborted();
  } catch (error) {
    // Its last message may arrive before it has finished its work.
    await ended;
    await sweepPersistent(programs, stateDir);
    throw signal?.aborted ? signal.reason : error;
  } finally {
    signal?.removeEventListener("abort", kill);
    control.destroy();
  }
  const sandbox = await adoptPersistent(programs, stateDir);
  if (sandbox === null) throw new AgentKernelError("sandbox_died", "the sandbox ended as soon as it had started");
  return sandbox;
}
