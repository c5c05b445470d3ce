/** Events and logs of sandboxes, for callers who may see them. */
import { query as queryAudit } from "../../audit/query.js";
import type { AuditRecord } from "../../audit/reader.js";
import { AgentKernelError } from "../../core/errors.js";
import { redactor } from "../../core/redact.js";
import { auditFolder } from "../../core/state-folders.js";
import type { SandboxEvent } from "../../runtime/sandboxes/index.js";
import { isAdmin, maySee } from "../auth/caller.js";
import { type ApiCall, type Backing, type HandlerFor, sandboxFor } from "../call.js";
import { data, type Reply } from "../http/reply.js";
import { EventStream } from "../sse.js";
import { logOf } from "./command-logs.js";
import { timeOf } from "./sandboxes.js";

const USUAL_RECORDS = 100;

export const logs: HandlerFor<"logs"> = async ({ caller, params, query, signal }, backing) => {
  const sandbox = sandboxFor(caller, backing, params.name);
  const all = sandbox.execs().filter(({ detached }) => detached);
  const wanted = query.exec === undefined ? all : all.filter(({ id }) => id === query.exec);
  if (query.exec !== undefined && wanted.length === 0) {
    throw new AgentKernelError("not_found", `no output of a command ${query.exec} was kept`, {
      hint: "exec with detach runs one whose output is",
    });
  }
  const execs: object[] = [];
  for (const info of wanted) execs.push(await logOf(sandbox, info, query, signal));
  return data({ execs });
};

type AuditQuery = {
  readonly type?: string;
  readonly denied?: boolean;
  readonly since?: string;
  readonly limit?: number;
};

export const sandboxAudit: HandlerFor<"sandboxAudit"> = async ({ caller, params, query }, backing) => {
  const sandbox = sandboxFor(caller, backing, params.name);
  const folder = sandbox.record.audit.path ?? folderOf(backing);
  return data(await records(folder, query, ({ sandbox: id }) => id === sandbox.id, sandbox.id));
};

export const audit: HandlerFor<"audit"> = async ({ caller, query }, backing) => {
  const own = new Set(
    backing.sandboxes
      .list()
      .filter((sandbox) => maySee(caller, sandbox))
      .map(({ id }) => id),
  );
  const isSeen = ({ sandbox }: AuditRecord) =>
    isAdmin(caller) || (sandbox !== null && (own.has(sandbox) || backing.runs.isOf(sandbox, caller.id)));
  return data(await records(folderOf(backing), query, isSeen));
};

function folderOf({ own }: Backing): string {
  return auditFolder(own.env, own.homeDir);
}

/** So many are looked at for one that the caller may see. */
const LOOKED_AT = 10_000;

async function records(
  folder: string,
  asked: AuditQuery,
  isSeen: (record: AuditRecord) => boolean,
  sandbox?: string,
): Promise<object> {
  const sinceMs = asked.since === undefined ? undefined : sinceOf(asked.since);
  const filter = {
    ...(sandbox === undefined ? {} : { sandbox }),
    ...(asked.type === undefined ? {} : { types: [asked.type] }),
    ...(asked.denied === true ? { deniedOnly: true } : {}),
    ...(sinceMs === undefined ? {} : { sinceMs }),
  };
  const found = await queryAudit(folder, filter, LOOKED_AT);
  const seen = found.records.filter(isSeen).slice(-(asked.limit ?? USUAL_RECORDS));
  return { records: seen.map(({ fields }) => fields) };
}

function sinceOf(text: string): number {
  const ms = Date.parse(text);
  if (Number.isFinite(ms)) return ms;
  throw new AgentKernelError("invalid_argument", "since is not a time such as 2030-01-31T12:00:00Z", {
    details: { field: "since" },
  });
}

export const sandboxEvents: HandlerFor<"sandboxEvents"> = async (asked, backing) => {
  const { name } = sandboxFor(asked.caller, backing, asked.params.name);
  return stream(asked, backing, (event) => event.sandbox === name && maySee(asked.caller, ownedBy(event)));
};

export const events: HandlerFor<"events"> = async (asked, backing) =>
  stream(asked, backing, (event) => maySee(asked.caller, ownedBy(event)));

function ownedBy({ sandbox, owner }: SandboxEvent) {
  return { name: sandbox, owner };
}

/** Events that wait for a slow reader; beyond it the reader is cut off, and can ask what there is. */
const MOST_UNSENT = 1000;

function stream(
  { signal }: ApiCall<unknown, unknown>,
  { sandboxes }: Backing,
  isSeen: (event: SandboxEvent) => boolean,
): Reply {
  return {
    kind: "events",
    write: async (response) => {
      const out = new EventStream(response);
      let unsent = 0;
      const over = new Promise<void>((resolve) => {
        if (signal.aborted) resolve();
        signal.addEventListener("abort", () => resolve(), { once: true });
      });
      const stop = sandboxes.onEvent((event) => {
        if (!isSeen(event)) return;
        if (++unsent > MOST_UNSENT) response.destroy();
        out.send(event.type, eventData(event), () => unsent--);
      });
      await over;
      stop();
      await out.end();
    },
  };
}

/** Words of a command may hold secrets, which are nobody's who only watches. */
const redact = redactor();

function eventData(event: SandboxEvent): object {
  const about = { time: timeOf(event.atMs), sandbox: event.sandbox };
  if (event.type === "exec.started") return { ...about, exec: event.exec, command: redact.argv(event.argv) };
  if (event.type === "exec.ended") {
    const { exec, code, signal, timedOut } = event;
    return { ...about, exec, code, signal, timed_out: timedOut };
  }
  return event.type === "stopped" ? { ...about, reason: event.reason } : about;
}
