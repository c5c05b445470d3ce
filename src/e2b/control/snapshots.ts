/** Snapshots, and forks of what runs. A snapshot is named where a template is. */

import { isAdmin, maySee, ownerOf } from "../../api/auth/caller.js";
import { handlers } from "../../api/handlers.js";
import { object, optional } from "../../api/schema/object-shape.js";
import { flag, nullable, text, whole } from "../../api/schema/shapes.js";
import { AgentKernelError } from "../../core/errors.js";
import type { Snapshot } from "../../runtime/sandboxes/index.js";
import { e2bError } from "../errors.js";
import { apiCall, type ControlCall, type ControlHandler, namedSandbox } from "./call.js";
import { adopt, newName } from "./create.js";
import { pageOf } from "./list.js";
import { reachedBy, seconds, USUAL_TIMEOUT_S } from "./shown.js";

const MOST_FORKS = 100;

const forkRequest = object({
  timeout: optional(nullable(seconds), "In seconds."),
  count: optional(nullable(whole({ min: 1, max: MOST_FORKS })), "How many."),
});

/** Each is made or not by itself. */
export const fork: ControlHandler = async (call) => {
  const asked = call.read(forkRequest);
  const { sandbox, record } = namedSandbox(call);
  const timeMs = (asked.timeout ?? USUAL_TIMEOUT_S) * 1000;
  const { backing } = call.host;
  const results: object[] = [];
  for (let index = 0; index < (asked.count ?? 1); index++) {
    const name = newName();
    try {
      await handlers.forkSandbox(apiCall(call, sandbox.name, { name }), backing);
      const made = backing.sandboxes.get(name);
      const isKilled = record.onTimeout === "kill";
      await made.setLife({ ttlMs: isKilled ? Math.max(1, timeMs) : null });
      await adopt(call, made, { ...record, id: made.id, endAtMs: Date.now() + timeMs });
      results.push({ sandbox: reachedBy(call, made, record.template) });
    } catch (error) {
      const { status, message } = e2bError(error, backing.redactFor(call.caller));
      results.push({ error: { code: status, message } });
    }
  }
  return { status: 201, body: results };
};

const snapshotRequest = object({
  name: optional(nullable(text({ minLength: 1, maxLength: 63 })), "How it is called."),
  memory: optional(nullable(flag()), "false: files alone."),
});

export const take: ControlHandler = async (call) => {
  const asked = call.read(snapshotRequest);
  const { sandbox } = namedSandbox(call);
  const name = asked.name ?? newName();
  const body = { name, ...(asked.memory === undefined || asked.memory === null ? {} : { memory: asked.memory }) };
  await handlers.snapshotSandbox(apiCall(call, sandbox.name, body), call.host.backing);
  return { status: 201, body: { snapshotID: name, names: [name] } };
};

export const list: ControlHandler = async (call) => {
  const { query } = call;
  const [of, name] = [query.get("sandboxID"), query.get("name")];
  const wanted = seen(call).filter(
    (one) => (of === null || one.info.sandbox.name === of) && (name === null || one.name === name),
  );
  const keyOf = (one: Snapshot) => `${String(one.info.createdAtMs).padStart(16, "0")} ${one.name}`;
  const sorted = wanted.sort((one, other) => (keyOf(one) < keyOf(other) ? 1 : -1));
  const { items, next } = pageOf(sorted, query, keyOf, false);
  return {
    status: 200,
    body: items.map((one) => ({ snapshotID: one.name, names: [one.name] })),
    headers: next === null ? {} : { "x-next-token": next },
  };
};

/** As the HTTP interface shows them. */
function seen({ caller, host }: ControlCall): Snapshot[] {
  return host.backing.sandboxes.snapshots.list().filter(({ owner, info }) => {
    if (isAdmin(caller)) return true;
    return owner === ownerOf(caller) && maySee(caller, { name: info.sandbox.name, owner });
  });
}

/** Their clients delete a snapshot as a template. */
export const remove: ControlHandler = async (call) => {
  const [name = ""] = call.params;
  if (!seen(call).some((one) => one.name === name)) {
    throw new AgentKernelError("not_found", `there is no snapshot ${name.slice(0, 80)}`);
  }
  await handlers.removeSnapshot(apiCall(call, name, undefined), call.host.backing);
  return { status: 204 };
};
