/** Named sandboxes, their commands, snapshots and time to live, as the published SDKs ask for them. */

import { maySee } from "../api/auth/caller.js";
import { sandboxFor } from "../api/call.js";
import { handlers } from "../api/handlers.js";
import { backendChoice, duration, sandboxName, word, command as words } from "../api/operations/fields.js";
import { answerObject, field, object, optional } from "../api/schema/object-shape.js";
import { choice, flag, list, nullable, text, whole } from "../api/schema/shapes.js";
import { AgentKernelError } from "../core/errors.js";
import { profileNames } from "../core/policy.js";
import { parseLifeMs } from "../policy/resources.js";
import type { Sandbox } from "../runtime/sandboxes/index.js";
import { apiCall, dataOf, type PublishedCall, type PublishedHandler } from "./call.js";
import { missing } from "./missing.js";
import { shownCommand, shownSandbox, shownSnapshot } from "./shown.js";

function named(call: PublishedCall): Sandbox {
  return sandboxFor(call.caller, call.backing, nameOf(call));
}

function nameOf({ params }: PublishedCall): string {
  return sandboxName.read(params[0] ?? "", "name");
}

export const listAll: PublishedHandler = async (call) => {
  const seen = call.backing.sandboxes.list().filter((sandbox) => maySee(call.caller, sandbox));
  return await Promise.all(seen.map((sandbox) => shownSandbox(call, sandbox)));
};

const createRequest = object({
  name: field(sandboxName, "How it is called."),
  backend: optional(nullable(text()), "What isolates it."),
  image: optional(nullable(text({ minLength: 1 })), "Its image."),
  vcpus: optional(nullable(whole({ min: 1 })), "Cores."),
  memory_mb: optional(nullable(whole({ min: 1 })), "Memory."),
  profile: optional(nullable(choice(profileNames)), "Its profile."),
  source_url: optional(nullable(text()), "Not served."),
  source_ref: optional(nullable(text()), "Not served."),
  volumes: optional(nullable(list(text())), "Not served."),
  secrets: optional(nullable(list(text())), "Not served."),
  secret_files: optional(nullable(list(text())), "Not served."),
});

export const create: PublishedHandler = async (call) => {
  const asked = createRequest.read(call.body, "");
  if (asked.source_url || asked.source_ref) throw missing("source_url", "clone with a command in the sandbox");
  if (asked.volumes?.length) throw missing("volumes", "use snapshots, or files of the sandbox");
  if (asked.secrets?.length || asked.secret_files?.length) throw missing("secrets", "bind them in the user's policy");
  const resources = {
    ...(asked.vcpus ? { vcpus: asked.vcpus } : {}),
    ...(asked.memory_mb ? { memory_mb: asked.memory_mb } : {}),
  };
  const isChosen = asked.backend !== undefined && asked.backend !== null && asked.backend !== "automatic";
  const body = {
    name: asked.name,
    ...(isChosen ? { backend: backendChoice.read(asked.backend ?? "", "backend") } : {}),
    ...(asked.image ? { image: asked.image } : {}),
    ...(asked.profile ? { profile: asked.profile } : {}),
    resources,
  };
  await handlers.createSandbox(apiCall(call, {}, body), call.backing);
  return await shownSandbox(call, call.backing.sandboxes.get(asked.name));
};

export const get: PublishedHandler = async (call) => await shownSandbox(call, named(call));

export const getById: PublishedHandler = async (call) => {
  const [id = ""] = call.params;
  const found = call.backing.sandboxes.list().find((one) => one.id === id && maySee(call.caller, one));
  if (found === undefined)
    throw new AgentKernelError("not_found", `there is no sandbox with the id ${id.slice(0, 80)}`);
  return await shownSandbox(call, found);
};

/** Also one that runs. */
export const remove: PublishedHandler = async (call) => {
  const name = nameOf(call);
  await handlers.removeSandbox(apiCall(call, { name }, undefined, { force: true }), call.backing);
  return `Sandbox ${name} removed`;
};

export const logs: PublishedHandler = async (call) => {
  const { records } = await dataOf(
    await handlers.sandboxAudit(apiCall(call, { name: nameOf(call) }, undefined, {}), call.backing),
  );
  return records;
};

const execRequest = object({
  command: field(words, "What is run."),
  env: optional(nullable(list(word, { maxItems: 4096 })), "NAME=VALUE."),
  workdir: optional(nullable(text({ pattern: /^\//, expected: "an absolute path" })), "Where it starts."),
  sudo: optional(nullable(flag()), "As root."),
});

function execBody({ body }: PublishedCall) {
  const { command, env, workdir, sudo } = execRequest.read(body, "");
  const variables = (env ?? []).map((pair): readonly [string, string] => {
    const at = pair.indexOf("=");
    if (at > 0) return [pair.slice(0, at), pair.slice(at + 1)];
    throw new AgentKernelError("invalid_argument", "env takes NAME=VALUE", { details: { field: "env" } });
  });
  return {
    command,
    env: new Map(variables),
    ...(workdir ? { cwd: workdir } : {}),
    ...(sudo === true ? { user: "root" } : {}),
  };
}

export const exec: PublishedHandler = async (call) => {
  const reply = await handlers.exec(apiCall(call, { name: nameOf(call) }, execBody(call)), call.backing);
  const { output } = await dataOf(reply);
  return { output };
};

export const detach: PublishedHandler = async (call) => {
  const name = nameOf(call);
  const body = { ...execBody(call), detach: true };
  const started = await dataOf(await handlers.exec(apiCall(call, { name }, body), call.backing));
  return await shownCommand(named(call), infoOf(named(call), started.exec));
};

function infoOf(sandbox: Sandbox, id: string) {
  const info = sandbox.execs().find((one) => one.id === id && one.detached);
  if (info !== undefined) return info;
  throw new AgentKernelError("not_found", `there is no detached command ${id.slice(0, 80)}`);
}

export const detachedList: PublishedHandler = async (call) => {
  const sandbox = named(call);
  return await Promise.all(
    sandbox
      .execs()
      .filter(({ detached }) => detached)
      .map((info) => shownCommand(sandbox, info)),
  );
};

export const detachedStatus: PublishedHandler = async (call) => {
  const sandbox = named(call);
  return await shownCommand(sandbox, infoOf(sandbox, call.params[1] ?? ""));
};

export const detachedLogs: PublishedHandler = async (call) => {
  const [, id = ""] = call.params;
  infoOf(named(call), id);
  const { execs } = await dataOf(
    await handlers.logs(apiCall(call, { name: nameOf(call) }, undefined, { exec: id }), call.backing),
  );
  const [{ stdout = "", stderr = "" } = {}] = execs;
  return call.query.get("stream") === "stderr" ? { stderr } : { stdout, stderr };
};

export const detachedKill: PublishedHandler = async (call) => {
  const [, id = ""] = call.params;
  infoOf(named(call), id);
  await handlers.killExec(apiCall(call, { name: nameOf(call), exec: id }, undefined), call.backing);
  return `Command ${id} killed`;
};

const extendRequest = object({ by: field(duration, "How much longer.") });

export const extend: PublishedHandler = async (call) => {
  const { by } = extendRequest.read(call.body, "");
  const { ttlLeftMs } = named(call).summary();
  const ttl = `${(ttlLeftMs ?? 0) + parseLifeMs("by", by)}ms`;
  const { expires_at } = await dataOf(
    await handlers.patchSandbox(apiCall(call, { name: nameOf(call) }, { ttl }), call.backing),
  );
  return { expires_at };
};

export const listSnapshots: PublishedHandler = async (call) => {
  const { snapshots } = await dataOf(await handlers.listSnapshots(apiCall(call, {}, undefined), call.backing));
  return snapshots.map(shownSnapshot);
};

const snapshotRequest = answerObject({
  sandbox: field(sandboxName, "Of which."),
  name: optional(nullable(sandboxName), "How it is called."),
});

export const takeSnapshot: PublishedHandler = async (call) => {
  const { sandbox, name } = snapshotRequest.read(call.body, "");
  const body = name ? { name } : {};
  return shownSnapshot(
    await dataOf(await handlers.snapshotSandbox(apiCall(call, { name: sandbox }, body), call.backing)),
  );
};

export const getSnapshot: PublishedHandler = async (call) =>
  shownSnapshot(
    await dataOf(await handlers.getSnapshot(apiCall(call, { name: nameOf(call) }, undefined), call.backing)),
  );

export const removeSnapshot: PublishedHandler = async (call) => {
  const name = nameOf(call);
  await handlers.removeSnapshot(apiCall(call, { name }, undefined), call.backing);
  return `Snapshot ${name} deleted`;
};

/** Under the name that it had, or else the snapshot's. */
export const restoreSnapshot: PublishedHandler = async (call) => {
  const snapshot = nameOf(call);
  const { sandbox } = await dataOf(
    await handlers.getSnapshot(apiCall(call, { name: snapshot }, undefined), call.backing),
  );
  const isTaken = call.backing.sandboxes.list().some((one) => one.name === sandbox);
  const name = isTaken ? snapshot : sandbox;
  await handlers.restoreSnapshot(apiCall(call, { name: snapshot }, { name }), call.backing);
  return await shownSandbox(call, call.backing.sandboxes.get(name));
};
