/** A request of the control plane that was admitted, and its reply. */
import type { IncomingMessage } from "node:http";
import type { Caller } from "../../api/auth/caller.js";
import { maySee } from "../../api/auth/caller.js";
import type { ApiCall } from "../../api/call.js";
import type { BodySource } from "../../api/http/body.js";
import type { Shape } from "../../api/schema/shapes.js";
import { AgentKernelError } from "../../core/errors.js";
import { type E2bContext, type Found, findSandbox } from "../context.js";
import { usualRecord } from "../sandboxes/record.js";

export interface ControlCall extends E2bContext {
  readonly id: string;
  readonly caller: Caller;
  /** What stands where the path has a name. */
  readonly params: readonly string[];
  readonly query: URLSearchParams;
  /** The body, or an empty object where there is none. */
  readonly read: <T>(shape: Shape<T>) => T;
  /** What follows a sandbox's port and id in the name of a host, with this server's port. */
  readonly address: string;
  readonly request: IncomingMessage;
  readonly source: BodySource;
  readonly signal: AbortSignal;
}

interface ControlReply {
  readonly status: number;
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
}

export type ControlHandler = (call: ControlCall) => Promise<ControlReply>;

/** The same caller's request to an operation of the HTTP interface. */
export function apiCall<Body, Query = undefined>(
  { id, caller, request, source, signal }: ControlCall,
  name: string,
  body: Body,
  query?: Query,
): ApiCall<Body, Query> {
  return {
    id,
    caller,
    params: { name, path: "", exec: "", port: 0 },
    query: query as Query,
    body,
    request,
    source,
    signal,
  };
}

/** The one of a client of E2B that the path names. */
export function namedSandbox(call: ControlCall): Found {
  const [name = ""] = call.params;
  const found = findSandbox(call, name);
  if (found !== undefined && maySee(call.caller, found.sandbox)) return found;
  throw noSandbox(name);
}

/** The same, and one that was made in another way: it is one of E2B's from then on. */
export function knownSandbox(call: ControlCall): Found {
  const [name = ""] = call.params;
  const { sandboxes } = call.host.backing;
  const sandbox = sandboxes.list().find((one) => one.name === name);
  if (sandbox === undefined || !maySee(call.caller, sandbox)) throw noSandbox(name);
  const { ttlLeftMs } = sandbox.summary();
  const endAtMs = ttlLeftMs === null ? Number.MAX_SAFE_INTEGER : Date.now() + ttlLeftMs;
  return { sandbox, record: call.records.of(sandbox) ?? { ...usualRecord, id: sandbox.id, endAtMs } };
}

function noSandbox(name: string): AgentKernelError {
  return new AgentKernelError("not_found", `Sandbox ${name.slice(0, 80)} was not found`);
}
