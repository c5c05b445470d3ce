/** Sandboxes made by E2B's clients, from an image or from a snapshot. */
import { randomBytes } from "node:crypto";
import { handlers } from "../../api/handlers.js";
import { env } from "../../api/operations/fields.js";
import { anyObject, dictionary, object, optional } from "../../api/schema/object-shape.js";
import { flag, list, nullable, text, type ValueOf } from "../../api/schema/shapes.js";
import type { Sandbox } from "../../runtime/sandboxes/index.js";
import { unsupported } from "../errors.js";
import { prepareHome } from "../sandboxes/home.js";
import { type E2bRecord, usualRecord } from "../sandboxes/record.js";
import { apiCall, type ControlCall, type ControlHandler } from "./call.js";
import { networkFields, networkRequest } from "./network.js";
import { reachedBy, seconds, USUAL_TIMEOUT_S } from "./shown.js";

const aboutMetadata = { pattern: /^[^\p{Cc}]{1,256}$/u, expected: "a name without control characters" };

const newSandbox = object({
  templateID: optional(text({ minLength: 1, maxLength: 512 }), "A template, an image or a snapshot."),
  timeout: optional(seconds, "In seconds."),
  metadata: optional(nullable(dictionary(aboutMetadata, text({ maxLength: 65_536 }))), "For its finding."),
  envVars: optional(nullable(env), "Variables of all its commands."),
  allow_internet_access: optional(nullable(flag()), "Whether it may reach the network."),
  network: optional(nullable(object(networkFields)), "What it may reach, and who may reach it."),
  autoPause: optional(flag(), "It is paused when its time is up."),
  autoPauseMemory: optional(flag(), "What runs in it is kept when it is paused."),
  autoResume: optional(
    nullable(object({ enabled: optional(flag(), "Requests to it resume it."), policy: optional(text(), "The same.") })),
    "What resumes it.",
  ),
  secure: optional(flag(), "It always is."),
  mcp: optional(nullable(anyObject()), "Not served."),
  iam: optional(nullable(anyObject()), "Not served."),
  volumeMounts: optional(nullable(list(anyObject())), "Not served."),
});
type NewSandbox = ValueOf<typeof newSandbox>;

export const create: ControlHandler = async (call) => {
  const asked = call.read(newSandbox);
  refuseUnserved(asked);
  const template = asked.templateID ?? "base";
  const name = newName();
  const pauses = asked.autoPause === true;
  const timeoutMs = (asked.timeout ?? USUAL_TIMEOUT_S) * 1000;
  const sandbox = await make(call, name, template, asked, pauses ? null : timeoutMs);
  const record: Omit<E2bRecord, "home"> = {
    ...usualRecord,
    id: sandbox.id,
    template,
    metadata: Object.fromEntries(asked.metadata ?? []),
    allowInternetAccess: asked.allow_internet_access ?? null,
    allowOut: asked.network?.allowOut ?? [],
    denyOut: asked.network?.denyOut ?? [],
    publicTraffic: asked.network?.allowPublicTraffic ?? true,
    onTimeout: pauses ? "pause" : "kill",
    pausesMemory: asked.autoPauseMemory ?? true,
    autoResume: asked.autoResume?.enabled ?? asked.autoResume?.policy === "any",
    endAtMs: Date.now() + timeoutMs,
  };
  await adopt(call, sandbox, record);
  return { status: 201, body: reachedBy(call, sandbox, template) };
};

/** It is one of E2B's from then on; one that cannot be is removed. */
export async function adopt(call: ControlCall, sandbox: Sandbox, record: Omit<E2bRecord, "home">): Promise<void> {
  try {
    call.records.set(sandbox, { ...record, home: await prepareHome(sandbox) });
    call.timeouts.watch(sandbox);
  } catch (error) {
    await sandbox.remove({ force: true });
    throw error;
  }
}

/** Nobody finds it by guessing: its name opens its public ports. */
export function newName(): string {
  return `i${randomBytes(10).toString("hex")}`;
}

async function make(
  call: ControlCall,
  name: string,
  template: string,
  { envVars, ...asked }: NewSandbox,
  ttlMs: number | null,
): Promise<Sandbox> {
  const { backing } = call.host;
  const network = networkRequest(asked.allow_internet_access ?? null, asked.network ?? {});
  const isSnapshot = backing.sandboxes.snapshots.list().some((one) => one.name === template);
  if (isSnapshot) {
    await handlers.restoreSnapshot({ ...apiCall(call, template, { name }) }, backing);
    const sandbox = backing.sandboxes.get(name);
    if (network !== undefined) await handlers.patchSandbox(apiCall(call, name, { network }), backing);
    await sandbox.setLife({ ttlMs });
    return sandbox;
  }
  const image = call.templates.get(template) ?? (ownTemplates.has(template) ? undefined : template);
  const body = {
    name,
    ...(image === undefined ? {} : { image }),
    ...(network === undefined ? {} : { network }),
    ...(envVars ? { env: envVars } : {}),
    ...(ttlMs === null ? {} : { ttl: `${ttlMs}ms` }),
  };
  await handlers.createSandbox(apiCall(call, name, body), backing);
  return backing.sandboxes.get(name);
}

/** Templates that every account of E2B has: the image that sandboxes of ours usually have, where none is named for them. */
export const ownTemplates: ReadonlySet<string> = new Set(["base", "code-interpreter-v1"]);

function refuseUnserved({ mcp, iam, volumeMounts }: NewSandbox): void {
  if (mcp) throw unsupported("mcp", "start the servers with sandbox.commands.run, or use agentkernel mcp-server");
  if (iam) throw unsupported("iam", "bind secrets to hosts in the policy of the key's user");
  if (volumeMounts?.length) throw unsupported("volumeMounts", "use snapshots, or files.write");
}
