/** The checked request of one operation, and the parts of the server that its handler uses. */
import type { IncomingMessage } from "node:http";
import { AgentKernelError } from "../core/errors.js";
import type { Redactor } from "../core/redact.js";
import type { Surroundings } from "../core/surroundings.js";
import type { RuntimeHost } from "../runtime/open-backend.js";
import type { Sandbox, Sandboxes } from "../runtime/sandboxes/index.js";
import { type Caller, maySee } from "./auth/caller.js";
import type { BodySource } from "./http/body.js";
import type { Reply } from "./http/reply.js";
import type { PathParams } from "./http/router.js";
import type { OutputBudget } from "./limits/output-budget.js";
import type { Places } from "./limits/places.js";
import type { Metrics } from "./metrics/index.js";
import type { OperationName, operations } from "./operations/index.js";
import type { Operation } from "./operations/operation.js";
import type { RunOwners } from "./run-owners.js";

export interface ApiCall<Body, Query> {
  readonly id: string;
  readonly caller: Caller;
  readonly params: PathParams;
  readonly query: Query;
  /** Undefined where it is optional and not there, or not JSON. */
  readonly body: Body;
  readonly request: IncomingMessage;
  /** For bodies that are not JSON. */
  readonly source: BodySource;
  /** Nobody waits for the answer any more. */
  readonly signal: AbortSignal;
}

export interface Backing {
  readonly own: Pick<Surroundings, "env" | "homeDir">;
  readonly host: RuntimeHost;
  readonly sandboxes: Sandboxes;
  readonly places: Places;
  /** Memory for output that answers hold. */
  readonly outputs: OutputBudget;
  readonly runs: RunOwners;
  readonly metrics: Metrics;
  /** For what this caller is told. */
  readonly redactFor: (caller: Caller | null) => Redactor;
  /** So much more than one request was asked for at once. */
  readonly countMore: (caller: Caller, count: number) => void;
  /** For what outlives its request: calls `end` when the caller's key is not valid any more. Returns how to stop. */
  readonly whileValid: (caller: Caller, end: () => void) => () => void;
  readonly maxUploadBytes: number;
  readonly isStopping: () => boolean;
  /** For work that no caller waits for: its remarks go to the server's log. */
  readonly settleLater: (work: Promise<readonly string[]>) => void;
}

type HandlerOf<O> =
  O extends Operation<infer Body, infer Query>
    ? (asked: ApiCall<Body, Query>, backing: Backing) => Promise<Reply>
    : never;

export type HandlerFor<K extends OperationName> = HandlerOf<(typeof operations)[K]>;
export type Handlers = { readonly [K in OperationName]: HandlerFor<K> };

/** One that the caller may not see is not there for them. */
export function sandboxFor(caller: Caller, { sandboxes }: Backing, name: string): Sandbox {
  const sandbox = sandboxes.list().find((one) => one.name === name);
  if (sandbox !== undefined && maySee(caller, sandbox)) return sandbox;
  if (sandbox === undefined && maySee(caller, { name, owner: null })) return sandboxes.get(name);
  throw new AgentKernelError("not_found", `there is no sandbox ${name}`, { hint: "GET /sandboxes lists them" });
}
