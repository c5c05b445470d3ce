/** Sandboxes with a name: made, looked at, changed, started, stopped and removed. */
import { AgentKernelError } from "../../core/errors.js";
import type { NetworkRules } from "../../core/policy.js";
import type { Redactor } from "../../core/redact.js";
import { parseLifeMs } from "../../policy/resources.js";
import type { Sandbox } from "../../runtime/sandboxes/index.js";
import { numbersOf } from "../../settings/index.js";
import { type Caller, localUser, maySee, ownerOf } from "../auth/caller.js";
import { type Backing, type HandlerFor, sandboxFor } from "../call.js";
import { ceilingOf, networkWithin, refuseLongerLife } from "../commands/ceilings.js";
import { prepare } from "../commands/prepare.js";
import { data } from "../http/reply.js";
import { byResourceKey, type NetworkRequest } from "../operations/fields.js";
import type { SandboxAnswer } from "../operations/sandboxes.js";

/** How long commands may take to end in order. */
const STOP_GRACE_MS = 2000;

export const listSandboxes: HandlerFor<"listSandboxes"> = async ({ caller, query }, backing) => {
  const seen = backing.sandboxes.list().filter((sandbox) => maySee(caller, sandbox));
  const wanted = seen.filter(({ state }) => query.state === undefined || state === query.state);
  return data({ sandboxes: await Promise.all(wanted.map((sandbox) => answerOf(sandbox, backing.redactFor(caller)))) });
};

export const createSandbox: HandlerFor<"createSandbox"> = async ({ body, caller, signal }, backing) => {
  const { name } = body;
  refuseOtherNames(caller, name);
  const run = await prepare([], body, { caller, own: backing.own });
  const sandbox = await backing.places.at(caller, signal, async () => {
    const giveBack = backing.places.reserveSandbox(caller, everything(backing));
    const update = { ttlMs: durationOf("ttl", body.ttl), idleTimeoutMs: durationOf("idle_timeout", body.idle_timeout) };
    const made = await backing.sandboxes
      .create({ name, run, ...update, owner: ownerOf(caller), signal })
      .finally(giveBack);
    if (body.start !== false) await startOrRemove(made, caller, backing, signal);
    return made;
  });
  return data(await answerOf(sandbox, backing.redactFor(caller)), 201);
};

export function refuseOtherNames(caller: Caller, name: string): void {
  if (maySee(caller, { name, owner: ownerOf(caller) })) return;
  throw new AgentKernelError("forbidden", `name: this key is for ${caller.sandboxes?.join(", ")} only`, {
    details: { field: "name" },
  });
}

/** Lists everything that counts against a caller's share. */
export function everything({ sandboxes }: Backing): readonly { readonly owner: string | null }[] {
  return [...sandboxes.list(), ...sandboxes.snapshots.list()];
}

/** What could not be started was never asked for as a sandbox that does not run. */
export async function startOrRemove(
  sandbox: Sandbox,
  caller: Caller,
  backing: Backing,
  signal: AbortSignal,
): Promise<void> {
  try {
    await sandbox.start({ ...hostEnvFor(caller, backing), signal });
  } catch (error) {
    await sandbox.remove({ force: true });
    throw error;
  }
}

/** What the policy passes on, and values of secrets, are the machine's user's: nobody else's sandbox gets them. */
export function hostEnvFor(caller: Caller, { own }: Backing) {
  return { hostEnv: caller.isTrusted ? own.env : {} };
}

export function durationOf(field: string, text: string | null | undefined): number | null {
  return text === undefined || text === null ? null : parseLifeMs(field, text);
}

export const getSandbox: HandlerFor<"getSandbox"> = async ({ caller, params }, backing) =>
  data(await answerOf(sandboxFor(caller, backing, params.name), backing.redactFor(caller)));

export const patchSandbox: HandlerFor<"patchSandbox"> = async ({ body, caller, params }, backing) => {
  const sandbox = sandboxFor(caller, backing, params.name);
  const { ttl, idle_timeout: idle, network } = body;
  const life = (field: "ttl" | "idle_timeout", text: string | null): number | null => {
    const wantedMs = durationOf(field, text);
    refuseLongerLife(caller, sandbox, field, wantedMs);
    return wantedMs;
  };
  const wanted = {
    ...(ttl === undefined ? {} : { ttlMs: life("ttl", ttl) }),
    ...(idle === undefined ? {} : { idleTimeoutMs: life("idle_timeout", idle) }),
  };
  const rules = network === undefined ? null : await networkFor(sandbox, network, backing);
  // Of one that others may change too, what the user chose stays the most that they may.
  const ceiling = caller.isTrusted ? null : ceilingOf(sandbox);
  const within = ceiling && rules && network !== undefined ? networkWithin(rules, network, ceiling) : rules;
  if (Object.keys(wanted).length > 0) await sandbox.setLife(wanted);
  if (within !== null) await sandbox.setNetwork(within, caller.id, ceiling);
  return data(await answerOf(sandbox, backing.redactFor(caller)));
};

/** What the sandbox's policy would be, had its user made it so: the user's limits hold for changes too. */
async function networkFor({ record }: Sandbox, network: NetworkRequest, { own }: Backing): Promise<NetworkRules> {
  const { policy, projectDir } = record;
  const wanted = { profile: policy.profile, compatibility_mode: policy.mode, network };
  const where = projectDir === null ? {} : { dir: projectDir };
  const { net } = (await prepare([], { ...wanted, ...where }, { caller: localUser, own })).policy;
  return { egress: net.egress, allow: net.allow, deny: net.deny };
}

export const removeSandbox: HandlerFor<"removeSandbox"> = async ({ caller, params, query }, backing) => {
  const { name } = params;
  sandboxFor(caller, backing, name);
  await backing.sandboxes.remove(name, { force: query.force === true });
  return data({ name });
};

export const startSandbox: HandlerFor<"startSandbox"> = async ({ caller, params, signal }, backing) => {
  const sandbox = sandboxFor(caller, backing, params.name);
  await backing.places.at(caller, signal, () => sandbox.start({ ...hostEnvFor(caller, backing), signal }));
  return data(await answerOf(sandbox, backing.redactFor(caller)));
};

export const stopSandbox: HandlerFor<"stopSandbox"> = async ({ caller, params }, backing) => {
  const sandbox = sandboxFor(caller, backing, params.name);
  await sandbox.stop({ graceMs: STOP_GRACE_MS });
  return data(await answerOf(sandbox, backing.redactFor(caller)));
};

export const pauseSandbox: HandlerFor<"pauseSandbox"> = async ({ caller, params }, backing) => {
  const sandbox = sandboxFor(caller, backing, params.name);
  await sandbox.pause();
  return data(await answerOf(sandbox, backing.redactFor(caller)));
};

export const resumeSandbox: HandlerFor<"resumeSandbox"> = async ({ caller, params }, backing) => {
  const sandbox = sandboxFor(caller, backing, params.name);
  await sandbox.resume();
  return data(await answerOf(sandbox, backing.redactFor(caller)));
};

export const sandboxStats: HandlerFor<"sandboxStats"> = async ({ caller, params }, backing) => {
  const { name, state, usage, diskBytes, network } = await sandboxFor(caller, backing, params.name).stats();
  return data({
    name,
    state,
    memory_bytes: usage?.memoryBytes ?? null,
    memory_peak_bytes: usage?.memoryPeakBytes ?? null,
    cpu_us: usage?.cpuUs ?? null,
    processes: usage?.processes ?? null,
    oom_kills: usage?.oomKills ?? null,
    processes_denied: usage?.pidsDenied ?? null,
    disk_bytes: diskBytes,
    network_received_bytes: network.receivedBytes,
    network_sent_bytes: network.sentBytes,
  });
};

export async function answerOf(sandbox: Sandbox, redact: Redactor): Promise<SandboxAnswer> {
  const info = await sandbox.info();
  const { policy, image, ttlLeftMs } = info;
  const numbers = numbersOf(policy);
  return {
    name: info.name,
    state: info.state,
    backend: info.backend,
    image: { ...image, why: redact.value(info.imageWhy) },
    profile: policy.profile,
    compatibility_mode: policy.mode,
    network: policy.net.egress,
    resources: byResourceKey(({ path }) => numbers[path] ?? 0),
    dir: info.projectDir,
    created_at: timeOf(info.createdAtMs),
    started_at: info.startedAtMs === null ? null : timeOf(info.startedAtMs),
    expires_at: ttlLeftMs === null ? null : timeOf(Date.now() + ttlLeftMs),
    ttl_ms: info.ttlMs,
    idle_timeout_ms: info.idleTimeoutMs,
    ports: info.ports.map(({ address, hostPort, guestPort }) => ({
      address,
      host_port: hostPort,
      guest_port: guestPort,
    })),
    layers: info.layers.map(({ name, state, detail = null }) => ({ name, state, detail })),
    notes: info.notes.map((note) => redact.value(note)),
  };
}

export function timeOf(ms: number): string {
  return new Date(ms).toISOString();
}
