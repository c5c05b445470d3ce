/**
 * src/mcp/http owns `/mcp`: Streamable HTTP on the SDK's transport. Whoever asks was found out before; a session belongs
 * to the caller who began it, and is not there for anybody else. It ends by DELETE, when its client was silent for long,
 * and with the server.
 */
import { randomUUID } from "node:crypto";
import type { Caller } from "../../api/auth/caller.js";
import type { Backing } from "../../api/call.js";
import { readBody } from "../../api/http/body.js";
import type { Exchange } from "../../api/http/exchange.js";
import type { McpDoor } from "../../api/mcp-door.js";
import { AgentKernelError } from "../../core/errors.js";
import { McpConnection } from "../connection.js";
import type { McpHost } from "../host.js";
import { type Message, parseMessage, requestIdOf, stillAtWork } from "../message.js";
import { RequestsAtWork } from "../requests-at-work.js";
import type { Tool } from "../tool.js";
import { EventHistory } from "./event-history.js";
import { HttpSession } from "./session.js";

const IDLE_MS = 10 * 60_000;
const MOST_SESSIONS = 1000;
const MOST_SESSIONS_OF_ONE = 100;

interface McpHttpOptions {
  readonly onFault: (error: unknown) => void;
  readonly idleMs?: number;
  /** Those of the product, unless a test brings its own. */
  readonly tools?: readonly Tool[];
}

export class McpHttp implements McpDoor {
  readonly #options: McpHttpOptions;
  readonly #sessions = new Map<string, HttpSession>();
  /** Whose sessions are just being made: they count already. */
  readonly #coming = new Map<string, string>();

  constructor(options: McpHttpOptions) {
    this.#options = options;
  }

  async serve(exchange: Exchange, caller: Caller, backing: Backing, maxBodyBytes: number): Promise<void> {
    const { request } = exchange;
    const body = request.method === "POST" ? await readMessage(exchange, maxBodyBytes) : undefined;
    if (body !== undefined && "fault" in body) {
      exchange.sendJson(400, body.fault);
      return;
    }
    const named = request.headers["mcp-session-id"];
    const session =
      named === undefined && body?.message.method === "initialize"
        ? await this.#begin(caller, backing)
        : this.#find(typeof named === "string" ? named : undefined, caller);
    if (session === null) {
      const [status, code] = named === undefined ? [400, -32_000] : [404, -32_001];
      const message = named === undefined ? "the Mcp-Session-Id header is missing" : "Session not found";
      exchange.sendJson(status, { jsonrpc: "2.0", error: { code, message }, id: null });
      return;
    }
    await this.#serveIn(session, exchange, body?.message);
  }

  async #serveIn(session: HttpSession, exchange: Exchange, message: Message | undefined): Promise<void> {
    const { transport, connection, atWork } = session.parts;
    const id = message === undefined ? null : requestIdOf(message);
    if (id !== null && !atWork.take(id)) {
      exchange.sendJson(400, stillAtWork(id));
      return;
    }
    session.use(exchange.over);
    try {
      await transport.answer(exchange, id, message);
      await exchange.over;
    } finally {
      if (id !== null) atWork.leave(id)();
    }
    // One that began with something else than it said has no name by which it could be found again.
    if (transport.sessionId === undefined) await connection.close();
  }

  async close(): Promise<void> {
    await Promise.all([...this.#sessions.values()].map(({ parts }) => parts.connection.close()));
  }

  #find(id: string | undefined, caller: Caller): HttpSession | null {
    const found = id === undefined ? undefined : this.#sessions.get(id);
    return found?.isOf(caller) ? found : null;
  }

  async #begin(caller: Caller, backing: Backing): Promise<HttpSession> {
    const callers = [...this.#sessions.values()].map(({ parts }) => parts.caller.id).concat(...this.#coming.values());
    const own = callers.filter((one) => one === caller.id).length;
    if (callers.length >= MOST_SESSIONS || own >= MOST_SESSIONS_OF_ONE) {
      throw new AgentKernelError("too_many_requests", "there are too many sessions", {
        hint: "end some with DELETE /mcp, or wait until they have been silent for long enough",
        details: { retry_after_s: 60 },
      });
    }
    const id = randomUUID();
    this.#coming.set(id, caller.id);
    try {
      return await this.#make(id, caller, backing);
    } finally {
      this.#coming.delete(id);
    }
  }

  async #make(id: string, caller: Caller, backing: Backing): Promise<HttpSession> {
    const { BoundedTransport } = await import("./bounded-transport.js");
    const history = new EventHistory(() => backing.outputs.open(caller.id));
    const transport = new BoundedTransport({ sessionIdGenerator: () => id, eventStore: history });
    const { onFault, tools, idleMs = IDLE_MS } = this.#options;
    const atWork = new RequestsAtWork();
    const connection = await McpConnection.open(transport as Parameters<typeof McpConnection.open>[0], {
      host: hostOf(caller, backing),
      onFault,
      atWork,
      ...(tools === undefined ? {} : { tools }),
    });
    const session = new HttpSession({ caller, transport, connection, atWork, idleMs });
    this.#sessions.set(id, session);
    const stopWatching = backing.whileValid(caller, () => void connection.close());
    void connection.over.then(() => {
      stopWatching();
      history.close();
      this.#sessions.delete(id);
    });
    return session;
  }
}

/** No folder of the host is this caller's project: none was named. */
function hostOf(
  caller: Caller,
  { own, host, sandboxes, places, outputs, redactFor, runs, settleLater, whileValid }: Backing,
): McpHost {
  return {
    caller,
    own,
    project: null,
    runtime: host,
    sandboxes,
    places,
    outputs,
    redact: redactFor(caller),
    serve: () => () => {},
    settleLater,
    whileValid,
    noteRun: (sandbox) => runs.note(sandbox, caller.id),
  };
}

async function readMessage({ source }: Exchange, maxBytes: number) {
  return parseMessage((await readBody(source, maxBytes)).toString("utf8"));
}
