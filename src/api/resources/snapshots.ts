/** Snapshots of named sandboxes, and sandboxes that begin as copies. */
import { AgentKernelError } from "../../core/errors.js";
import type { Sandbox, Sandboxes, Snapshot } from "../../runtime/sandboxes/index.js";
import { type Caller, isAdmin, maySee, ownerOf } from "../auth/caller.js";
import { type Backing, type HandlerFor, sandboxFor } from "../call.js";
import { data } from "../http/reply.js";
import type { CopyBody, SnapshotAnswer } from "../operations/snapshots.js";
import { answerOf, everything, hostEnvFor, refuseOtherNames, startOrRemove, timeOf } from "./sandboxes.js";

type CopyRequest = Parameters<Sandboxes["fork"]>[1];

export const snapshotSandbox: HandlerFor<"snapshotSandbox"> = async ({ body, caller, params, signal }, backing) => {
  const sandbox = ownSandbox(caller, backing, params.name);
  const { snapshots } = backing.sandboxes;
  const taken = await backing.places.at(caller, signal, async () => {
    const giveBack = backing.places.reserveSandbox(caller, everything(backing));
    const options = { name: body?.name, memory: body?.memory, owner: ownerOf(caller), signal };
    return await snapshots.take(sandbox, options).finally(giveBack);
  });
  return data(shown(taken), 201);
};

export const forkSandbox: HandlerFor<"forkSandbox"> = async ({ body, caller, params, signal }, backing) => {
  const source = ownSandbox(caller, backing, params.name);
  const made = await copy(body, caller, backing, signal, (request) => backing.sandboxes.fork(source, request));
  return data(await answerOf(made, backing.redactFor(caller)), 201);
};

export const listSnapshots: HandlerFor<"listSnapshots"> = async ({ caller }, { sandboxes }) =>
  data({
    snapshots: sandboxes.snapshots
      .list()
      .filter((one) => isSeen(caller, one))
      .map(shown),
  });

export const getSnapshot: HandlerFor<"getSnapshot"> = async ({ caller, params }, backing) =>
  data(shown(snapshotFor(caller, backing, params.name)));

export const removeSnapshot: HandlerFor<"removeSnapshot"> = async ({ caller, params }, backing) => {
  const { name } = snapshotFor(caller, backing, params.name);
  await backing.sandboxes.snapshots.remove(name);
  return data({ name });
};

export const restoreSnapshot: HandlerFor<"restoreSnapshot"> = async ({ body, caller, params, signal }, backing) => {
  const { name } = snapshotFor(caller, backing, params.name);
  const source = backing.sandboxes.snapshots.source(name);
  const made = await copy(body, caller, backing, signal, (request) => backing.sandboxes.createCopy(source, request));
  return data(await answerOf(made, backing.redactFor(caller)), 201);
};

async function copy(
  { name, start, memory }: CopyBody,
  caller: Caller,
  backing: Backing,
  signal: AbortSignal,
  make: (request: CopyRequest) => Promise<Sandbox>,
): Promise<Sandbox> {
  refuseOtherNames(caller, name);
  return await backing.places.at(caller, signal, async () => {
    const giveBack = backing.places.reserveSandbox(caller, everything(backing));
    const options = { name, memory, owner: ownerOf(caller), ...hostEnvFor(caller, backing), signal };
    const made = await make(options).finally(giveBack);
    if (start !== false) await startOrRemove(made, caller, backing, signal);
    return made;
  });
}

/** A copy is its maker's. Of what is somebody else's, and only shown to a key, it would outlive the owner's no. */
function ownSandbox(caller: Caller, backing: Backing, name: string): Sandbox {
  const sandbox = sandboxFor(caller, backing, name);
  if (isAdmin(caller) || sandbox.owner === ownerOf(caller)) return sandbox;
  throw new AgentKernelError("forbidden", `the sandbox ${name} is not the caller's own`, {
    hint: "who made it can make copies of it",
  });
}

function snapshotFor(caller: Caller, { sandboxes }: Backing, name: string): Snapshot {
  const found = sandboxes.snapshots.list().find((one) => one.name === name);
  if (found !== undefined && isSeen(caller, found)) return found;
  if (found === undefined && isAdmin(caller)) return sandboxes.snapshots.get(name);
  throw new AgentKernelError("not_found", `there is no snapshot ${name}`, { hint: "GET /snapshots lists them" });
}

/** A key for some sandboxes sees what it kept of these, and of no others. */
function isSeen(caller: Caller, { owner, info }: Snapshot): boolean {
  if (isAdmin(caller)) return true;
  return owner === ownerOf(caller) && maySee(caller, { name: info.sandbox.name, owner });
}

function shown({ info }: Snapshot): SnapshotAnswer {
  return {
    name: info.name,
    sandbox: info.sandbox.name,
    backend: info.backend,
    image: { ...info.image, why: "as its sandbox had it" },
    dir: info.projectDir,
    created_at: timeOf(info.createdAtMs),
    memory: info.memory,
    size_bytes: info.bytes,
  };
}
