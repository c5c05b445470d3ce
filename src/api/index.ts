/**
 * src/api owns HTTP: it turns requests into work of the runtime and the runtime's answers into responses, for the user's
 * own processes on a socket and for others over the network. It decides who may ask for what; what a sandbox may do is for
 * the policy. It owns no sandbox: whoever composes it hands the runtime in.
 */

import type { Buffer } from "node:buffer";
import { setMaxListeners } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { AgentKernelError, isAgentKernelError } from "../core/errors.js";
import { redactor } from "../core/redact.js";
import { secretValues } from "../core/secret-names.js";
import { apiUsageFile } from "../core/state-folders.js";
import type { Surroundings } from "../core/surroundings.js";
import type { Resident } from "../runtime/resident.js";
import type { Door } from "./auth/browsers.js";
import { type Caller, localUser, noQuotas, refuseUnlessScoped } from "./auth/caller.js";
import type { Authenticator } from "./auth/index.js";
import { KeyWatch } from "./auth/key-watch.js";
import type { ApiCall, Backing } from "./call.js";
import type { Dialect, DialectHost } from "./dialect.js";
import { handlers } from "./handlers.js";
import { abandonmentBeside } from "./http/abandonment.js";
import type { AccessLog } from "./http/access-log.js";
import { errorAnswer } from "./http/error-answer.js";
import { Exchange, readJsonBody, refuseUpgrade, sendReply } from "./http/exchange.js";
import { hidingPaths } from "./http/host-paths.js";
import { readQuery } from "./http/query.js";
import type { Reply } from "./http/reply.js";
import { type Match, matchRoute } from "./http/router.js";
import { CpuLedger } from "./limits/cpu-ledger.js";
import { OutputBudget, type OutputLimits } from "./limits/output-budget.js";
import { Places } from "./limits/places.js";
import { RateLimiter } from "./limits/rate.js";
import type { McpDoor } from "./mcp-door.js";
import type { Metrics } from "./metrics/index.js";
import { operations } from "./operations/index.js";
import type { Scope } from "./operations/operation.js";
import { type AttachQuery, serveTerminal } from "./resources/attach.js";
import { upgradePort } from "./resources/ports.js";
import { RunOwners } from "./run-owners.js";

export interface ApiLimits extends OutputLimits {
  /** Commands at once, of all callers. */
  readonly places: number;
  readonly mostWaiting: number;
  readonly maxBodyBytes: number;
  readonly maxUploadBytes: number;
  /** The default for a caller over the network whose key names no limit. */
  readonly requestsPerMinute: number;
  /** Likewise. */
  readonly sandboxesOfCaller: number;
}

export const usualLimits: ApiLimits = {
  places: 64,
  mostWaiting: 1000,
  maxBodyBytes: 8 << 20,
  maxUploadBytes: 2 ** 32,
  requestsPerMinute: 60_000,
  sandboxesOfCaller: 100,
  outputBytes: 256 << 20,
  callerOutputBytes: 128 << 20,
};

interface ApiParts {
  readonly own: Pick<Surroundings, "env" | "homeDir">;
  readonly resident: Omit<Resident, "meter">;
  readonly metrics: Metrics;
  readonly auth: Authenticator;
  readonly access: AccessLog;
  readonly limits: ApiLimits;
  /** Null where nobody serves `/mcp`. */
  readonly mcp: McpDoor | null;
  /** Other APIs on the same port. The first that claims a request has it. */
  readonly dialects: readonly Dialect[];
  /** A fault of our own, for the server's log. */
  readonly onFault: (error: unknown, requestId: string) => void;
  /** Something that its user should know, and no caller waits for. */
  readonly onRemark: (line: string) => void;
}

export class Api {
  readonly #parts: ApiParts;
  readonly #rates = new RateLimiter();
  readonly #backing: Backing;
  readonly #abandon = new AbortController();
  readonly #metrics: Metrics;
  readonly #watch: KeyWatch;
  readonly #ledger: CpuLedger;
  readonly #later = new Set<Promise<void>>();
  #isStopping = false;
  #now = 0;
  #onIdle: () => void = () => {};

  constructor(parts: ApiParts) {
    this.#parts = parts;
    this.#watch = new KeyWatch((caller) => parts.auth.isValid(caller));
    // Each request listens.
    setMaxListeners(0, this.#abandon.signal);
    const { own, limits, resident } = parts;
    this.#ledger = new CpuLedger({
      path: apiUsageFile(own.env, own.homeDir),
      leftOut: localUser.id,
      onFault: (error) => parts.onFault(error, "of the account of processor time"),
    });
    const places = new Places({ ...limits, ledger: this.#ledger });
    const redact = redactor(secretValues(own.env));
    const hiding = hidingPaths(redact, own);
    this.#metrics = parts.metrics;
    this.#metrics.watch({
      requestsNow: () => this.#now,
      commandsRunning: () => places.running,
      commandsWaiting: () => places.waiting,
      sandboxes: () => countBy(resident.sandboxes.list().map(({ state }) => state)),
      pool: () => {
        const { warm, in_use: inUse } = resident.pool.status;
        return { warm, inUse };
      },
    });
    this.#backing = {
      own,
      host: { ...own, resident: { ...resident, meter: this.#metrics } },
      sandboxes: resident.sandboxes,
      places,
      outputs: new OutputBudget(limits),
      runs: new RunOwners(),
      metrics: this.#metrics,
      redactFor: (caller) => (caller?.isTrusted ? redact : hiding),
      countMore: (caller, count) => this.#rates.owe(caller.id, this.#rateOf(caller), count),
      whileValid: (caller, end) => this.#watch.add(caller, end),
      maxUploadBytes: limits.maxUploadBytes,
      isStopping: () => this.#isStopping,
      settleLater: (work) => this.#settleLater(work),
    };
  }

  /** New work is refused; what goes on may end within the grace time, then it is given up. Settles when all has. */
  async stop(graceMs: number): Promise<void> {
    this.#isStopping = true;
    await this.#parts.mcp?.close();
    for (const dialect of this.#parts.dialects) await dialect.close();
    if (this.#now > 0) {
      const timer = setTimeout(() => this.#abandon.abort(), graceMs);
      await new Promise<void>((resolve) => {
        this.#onIdle = resolve;
      });
      clearTimeout(timer);
    }
    await Promise.all(this.#later);
    this.#ledger.save();
    await this.#parts.access.flush();
  }

  /** Answers one request. Never rejects. */
  async serve(request: IncomingMessage, response: ServerResponse, door: Door, isWaiting = false): Promise<void> {
    this.#now++;
    const exchange = new Exchange(request, response, this.#abandon.signal, isWaiting);
    try {
      await this.#answer(exchange, door);
    } catch (error) {
      this.#fail(exchange, error);
    } finally {
      await exchange.over;
      this.#record(exchange);
      this.#leave();
    }
  }

  /** A connection that wants to be a WebSocket: a terminal, or one of a server inside. Never rejects. */
  async upgrade(request: IncomingMessage, socket: Duplex, head: Buffer, door: Door): Promise<void> {
    this.#now++;
    const abandonment = abandonmentBeside(this.#abandon.signal);
    const { signal } = abandonment;
    let asking: Caller | null = null;
    socket.once("close", abandonment.abort);
    socket.on("error", () => {});
    const dialect = this.#parts.dialects.find((one) => one.claims(request, door));
    if (dialect !== undefined) {
      await dialect.upgrade({ request, socket, head }, door, this.#dialectHost()).finally(() => {
        abandonment.end();
        this.#leave();
      });
      return;
    }
    try {
      const { name, operation, params } = matchRoute(request.method ?? "", request.url ?? "");
      const caller = await this.#parts.auth.callerOf(request, door);
      asking = caller;
      door.newcomers?.isKnown(request.socket);
      this.#admit(caller, operation.scope ?? []);
      const isPort = operation.isProxied === true;
      if ((name !== "attach" && !isPort) || request.headers.upgrade?.toLowerCase() !== "websocket") {
        throw new AgentKernelError("invalid_argument", "there is nothing to upgrade to", {
          details: { field: "Upgrade" },
        });
      }
      const connection = { request, socket, head };
      const stopWatching = this.#watch.add(caller, abandonment.abort);
      const served = isPort
        ? upgradePort({ caller, params, signal, ...connection }, this.#backing)
        : serveTerminal({ caller, params, query: attachQuery(request), signal }, this.#backing, connection);
      await served.finally(stopWatching);
      this.#metrics.answered(name, 101, 0);
    } catch (error) {
      if (!isAgentKernelError(error) && !signal.aborted) this.#parts.onFault(error, "of a WebSocket");
      refuseUpgrade(socket, errorAnswer(error, this.#backing.redactFor(asking)));
    } finally {
      abandonment.end();
      this.#leave();
    }
  }

  #admit(caller: Caller, scope: readonly Scope[]): void {
    refuseUnlessScoped(caller, scope);
    this.#rates.take(caller.id, this.#rateOf(caller));
    if (this.#isStopping) throw new AgentKernelError("stopping", "the server is about to end");
  }

  #rateOf({ isTrusted, quotas }: Caller): number | null {
    return quotas.requestsPerMinute ?? (isTrusted ? null : this.#parts.limits.requestsPerMinute);
  }

  /** Work that only the server's own end waits for. */
  #settleLater(work: Promise<readonly string[]>): void {
    const done = work
      .then((remarks) => {
        for (const remark of remarks) this.#parts.onRemark(remark);
      })
      .catch((error: unknown) => this.#parts.onFault(error, "of an audit record"))
      .finally(() => this.#later.delete(done));
    this.#later.add(done);
  }

  #leave(): void {
    this.#now--;
    if (this.#now === 0) this.#onIdle();
  }

  async #answer(exchange: Exchange, door: Door): Promise<void> {
    const { request } = exchange;
    const { mcp, dialects } = this.#parts;
    const dialect = dialects.find((one) => one.claims(request, door));
    if (dialect !== undefined) {
      exchange.other = dialect.name;
      await dialect.serve(exchange, door, this.#dialectHost());
      return;
    }
    if (mcp !== null && /^\/mcp(?:\?|$)/.test(request.url ?? "")) {
      await this.#answerMcp(mcp, exchange, door);
      return;
    }
    const match = matchRoute(request.method ?? "", request.url ?? "");
    exchange.match = match;
    const { scope } = match.operation;
    const caller = await this.#parts.auth.callerOf(request, door).catch((error: unknown) => {
      // What is open to all is so for those without a key too, but never for pages of others.
      if (scope === null && isAgentKernelError(error) && error.code === "unauthorized") return null;
      throw error;
    });
    exchange.caller = caller;
    if (caller !== null) door.newcomers?.isKnown(exchange.socket);
    if (caller !== null && scope !== null) this.#admit(caller, scope);
    this.#watchOver(exchange, caller);
    const reply = await this.#handle(exchange, match, caller ?? nobody);
    await sendReply(exchange, reply);
  }

  /** Ends what a key started when the key ends. */
  #watchOver(exchange: Exchange, caller: Caller | null): void {
    if (caller === null || caller.id === localUser.id) return;
    const stop = this.#watch.add(caller, () => exchange.cutOff());
    void exchange.over.then(stop);
  }

  /** What a tool needs beside this, the tool itself asks for. */
  async #answerMcp(mcp: McpDoor, exchange: Exchange, door: Door): Promise<void> {
    exchange.other = "mcp";
    const caller = await this.#parts.auth.callerOf(exchange.request, door);
    exchange.caller = caller;
    door.newcomers?.isKnown(exchange.socket);
    this.#admit(caller, ["run", "read", "sandboxes"]);
    this.#watchOver(exchange, caller);
    await mcp.serve(exchange, caller, this.#backing, this.#parts.limits.maxBodyBytes);
  }

  #dialectHost(): DialectHost {
    const { auth, limits, onFault } = this.#parts;
    return {
      auth,
      backing: this.#backing,
      maxBodyBytes: limits.maxBodyBytes,
      admit: (caller, scopes) => this.#admit(caller, scopes),
      watchOver: (exchange, caller) => this.#watchOver(exchange, caller),
      onFault,
    };
  }

  async #handle(exchange: Exchange, { name, operation, params }: Match, caller: Caller): Promise<Reply> {
    const { request, source, signal, id } = exchange;
    const isProxied = operation.isProxied === true;
    const query = isProxied ? undefined : readQuery(request.url ?? "", operation.query);
    const body = isProxied ? undefined : await readJsonBody(exchange, operation, this.#parts.limits.maxBodyBytes);
    const asked: ApiCall<never, never> = {
      id,
      caller,
      params,
      query: query as never,
      body: body as never,
      request,
      source,
      signal,
    };
    // The body and the query were read by this operation's own shapes, which is what its handler's types say.
    return await (handlers[name] as (asked: ApiCall<never, never>, backing: Backing) => Promise<Reply>)(
      asked,
      this.#backing,
    );
  }

  #fail(exchange: Exchange, error: unknown): void {
    // A caller that hung up is no fault of ours, whatever that broke.
    const isOurs = isAgentKernelError(error) || exchange.signal.aborted || exchange.isAbandoned;
    if (!isOurs) this.#parts.onFault(error, exchange.id);
    const { status, headers, error: told } = errorAnswer(error, this.#backing.redactFor(exchange.caller));
    exchange.error = told.code;
    this.#metrics.failed(told.code);
    exchange.sendJson(status, { success: false, error: told }, headers);
  }

  #record(exchange: Exchange): void {
    const { request, match } = exchange;
    const ms = performance.now() - exchange.startedAt;
    this.#metrics.answered(match?.name ?? exchange.other ?? "none", exchange.response.statusCode, ms);
    this.#parts.access.add({
      time: new Date().toISOString(),
      id: exchange.id,
      caller: exchange.caller?.id ?? null,
      remote: exchange.remote,
      method: (request.method ?? "").slice(0, 16),
      operation: match?.operation.id ?? exchange.other,
      sandbox: match?.params.name || null,
      status: exchange.response.statusCode,
      error: exchange.error,
      bytes_out: exchange.socket.bytesWritten - exchange.bytesWrittenBefore,
      duration_ms: Math.round(ms * 1000) / 1000,
      aborted: !exchange.response.writableFinished,
    });
  }
}

function attachQuery({ url = "" }: IncomingMessage): AttachQuery {
  return (readQuery(url, operations.attach.query) as AttachQuery | undefined) ?? {};
}

/** Somebody whom nobody asked who they are. */
const nobody: Caller = {
  id: "nobody",
  scopes: [],
  isTrusted: false,
  sandboxes: [],
  quotas: noQuotas,
  ceiling: null,
};

function countBy(words: readonly string[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = { created: 0, running: 0, paused: 0, stopped: 0 };
  for (const word of words) counts[word] = (counts[word] ?? 0) + 1;
  return counts;
}
