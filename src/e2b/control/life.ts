/** How long a sandbox lives, and its pauses. */
import { handlers } from "../../api/handlers.js";
import { field, object, optional } from "../../api/schema/object-shape.js";
import { flag, nullable } from "../../api/schema/shapes.js";
import { AgentKernelError } from "../../core/errors.js";
import type { Found } from "../context.js";
import { wake } from "../sandboxes/wake.js";
import { apiCall, type ControlCall, type ControlHandler, knownSandbox, namedSandbox } from "./call.js";
import { adopt } from "./create.js";
import { reachedBy, seconds, USUAL_TIMEOUT_S } from "./shown.js";

const STOP_GRACE_MS = 2000;

const connectRequest = object({
  timeout: optional(nullable(seconds), "In seconds."),
  memory: optional(nullable(flag()), "false: it starts anew, with its files."),
  autoPause: optional(flag(), "It is paused when its time is up."),
});

/** It runs afterwards, at least for the time that is asked. */
export const connect: ControlHandler = async (call) => {
  const asked = call.read(connectRequest);
  const found = knownSandbox(call);
  const { sandbox } = found;
  if (asked.memory === false && sandbox.state === "paused") await sandbox.stop({ graceMs: STOP_GRACE_MS });
  const wasRunning = sandbox.state === "running";
  await wake(sandbox, call.host.backing, call.caller, call.signal);
  const isNew = call.records.of(sandbox) === undefined;
  if (isNew) await adopt(call, sandbox, found.record);
  const record = asked.autoPause === undefined ? {} : ({ onTimeout: asked.autoPause ? "pause" : "kill" } as const);
  const known = { ...(call.records.of(sandbox) ?? found.record), ...record };
  const wantedMs = (asked.timeout ?? USUAL_TIMEOUT_S) * 1000;
  // A connection never makes the time of one that runs shorter.
  const leftMs = wasRunning ? known.endAtMs - Date.now() : 0;
  if (wantedMs > leftMs) await liveFor(call, { sandbox, record: known }, wantedMs);
  return { status: wasRunning ? 200 : 201, body: reachedBy(call, sandbox, known.template) };
};

const timeoutRequest = object({ timeout: field(seconds, "In seconds, from now.") });

export const setTimeout: ControlHandler = async (call) => {
  const { timeout } = call.read(timeoutRequest);
  await liveFor(call, namedSandbox(call), timeout * 1000);
  return { status: 204 };
};

const refreshRequest = object({ duration: optional(seconds, "In seconds, from now.") });

export const refresh: ControlHandler = async (call) => {
  const { duration = USUAL_TIMEOUT_S } = call.read(refreshRequest);
  const found = namedSandbox(call);
  if (Date.now() + duration * 1000 > found.record.endAtMs) await liveFor(call, found, duration * 1000);
  return { status: 204 };
};

async function liveFor(call: ControlCall, { sandbox, record }: Found, timeMs: number): Promise<void> {
  const { backing } = call.host;
  call.records.set(sandbox, { ...record, endAtMs: Date.now() + timeMs });
  if (record.onTimeout === "kill") {
    // 1 ms is the shortest life that there is.
    await handlers.patchSandbox(apiCall(call, sandbox.name, { ttl: `${Math.max(1, timeMs)}ms` }), backing);
  }
  call.timeouts.watch(sandbox);
}

const pauseRequest = object({ memory: optional(nullable(flag()), "false: files are kept, and nothing that runs.") });

/** One that is paused waits for ever. */
export const pause: ControlHandler = async (call) => {
  const { memory } = call.read(pauseRequest);
  const { sandbox } = namedSandbox(call);
  if (sandbox.state !== "running") {
    throw new AgentKernelError("conflict", `Sandbox ${sandbox.name} is paused already`);
  }
  const name = sandbox.name;
  const { backing } = call.host;
  if (memory === false) await handlers.stopSandbox(apiCall(call, name, undefined), backing);
  else await handlers.pauseSandbox(apiCall(call, name, undefined), backing);
  await sandbox.setLife({ ttlMs: null });
  call.timeouts.watch(sandbox);
  return { status: 204 };
};
