/** One sandbox: looked at, measured, reached by other rules, removed. */
import { handlers } from "../../api/handlers.js";
import { object } from "../../api/schema/object-shape.js";
import { apiCall, type ControlHandler, namedSandbox } from "./call.js";
import { networkRequest, networkUpdateFields } from "./network.js";
import { detailed } from "./shown.js";

export const get: ControlHandler = async (call) => ({ status: 200, body: detailed(call, namedSandbox(call)) });

export const kill: ControlHandler = async (call) => {
  const { sandbox } = namedSandbox(call);
  const { backing } = call.host;
  await handlers.removeSandbox(apiCall(call, sandbox.name, undefined, { force: true }), backing);
  call.records.forget(sandbox.name);
  return { status: 204 };
};

const networkUpdate = object(networkUpdateFields);

/** What is left out is as if nothing had been asked. */
export const setNetwork: ControlHandler = async (call) => {
  const { sandbox, record } = namedSandbox(call);
  const asked = call.read(networkUpdate);
  const internet = asked.allow_internet_access ?? null;
  const network = networkRequest(internet, asked) ?? "on";
  await handlers.patchSandbox(apiCall(call, sandbox.name, { network }), call.host.backing);
  const [allowOut, denyOut] = [asked.allowOut ?? [], asked.denyOut ?? []];
  call.records.set(sandbox, { ...record, allowInternetAccess: internet, allowOut, denyOut });
  return { status: 204 };
};

/** As it is now: figures of the past are not kept. */
export const metrics: ControlHandler = async (call) => {
  const { sandbox } = namedSandbox(call);
  const { atMs, usage, diskBytes, limits } = await sandbox.stats();
  const { startedAtMs } = sandbox.summary();
  const [start, end] = [Number(call.query.get("start") ?? 0), Number(call.query.get("end") ?? Number.MAX_VALUE)];
  if (usage === null || atMs / 1000 < start || Math.floor(atMs / 1000) > end) return { status: 200, body: [] };
  const ranMs = Math.max(1, atMs - (startedAtMs ?? atMs));
  const sample = {
    timestamp: new Date(atMs).toISOString(),
    timestampUnix: Math.floor(atMs / 1000),
    cpuCount: Math.ceil(limits.vcpus),
    cpuUsedPct: Math.round(((usage.cpuUs ?? 0) / 1000 / ranMs) * 10_000) / 100,
    memUsed: usage.memoryBytes ?? 0,
    memTotal: limits.memoryBytes,
    memCache: 0,
    diskUsed: diskBytes ?? 0,
    diskTotal: sandbox.record.policy.resources.diskMiB * 2 ** 20,
  };
  return { status: 200, body: [sample] };
};
