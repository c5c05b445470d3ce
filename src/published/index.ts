/**
 * src/published owns the words of the SDKs that are published for agentkernel: a request of theirs becomes one of the
 * HTTP interface, and its answer is told in their shapes. Who may do what is decided by the same code as there.
 */
import type { IncomingMessage } from "node:http";
import type { Door } from "../api/auth/browsers.js";
import type { Dialect, DialectHost, Upgrade } from "../api/dialect.js";
import { hasBody, readBody } from "../api/http/body.js";
import { errorAnswer } from "../api/http/error-answer.js";
import { type Exchange, refuseUpgrade } from "../api/http/exchange.js";
import { type Json, parseJson } from "../api/schema/json-text.js";
import { AgentKernelError, isAgentKernelError } from "../core/errors.js";
import { STREAMED } from "./call.js";
import { routeOf } from "./routes.js";

const PUBLISHED = /^agentkernel-(?:nodejs|rust)-sdk\//;

export const publishedSdks: Dialect = {
  name: "published",
  claims: ({ headers }: IncomingMessage) => PUBLISHED.test(headers["user-agent"] ?? ""),
  serve,
  upgrade: async ({ socket }: Upgrade, _door: Door, host: DialectHost) => {
    const error = new AgentKernelError("unsupported", "the published SDKs have no terminals");
    refuseUpgrade(socket, errorAnswer(error, host.backing.redactFor(null)));
  },
  close: async () => {},
};

async function serve(exchange: Exchange, door: Door, host: DialectHost): Promise<void> {
  const { request, source, signal, id } = exchange;
  try {
    const { handle, params, scope } = routeOf(request.method ?? "", request.url ?? "");
    if (scope === null) {
      await host.auth.refuseStrangers(request, door);
      exchange.sendJson(200, { success: true, data: "ok" });
      return;
    }
    const caller = await host.auth.callerOf(request, door);
    exchange.caller = caller;
    door.newcomers?.isKnown(exchange.socket);
    host.admit(caller, scope);
    host.watchOver(exchange, caller);
    const bytes = hasBody(request) ? await readBody(source, host.maxBodyBytes) : null;
    const body: Json = bytes === null || bytes.length === 0 ? new Map() : parseJson(bytes);
    const { searchParams: query } = new URL(request.url ?? "", "http://localhost");
    const { backing } = host;
    const answer = await handle({ id, caller, params, query, body, backing, request, source, signal, exchange });
    if (answer !== STREAMED) exchange.sendJson(200, { success: true, data: answer });
  } catch (error) {
    const isOurs = isAgentKernelError(error) || exchange.signal.aborted || exchange.isAbandoned;
    if (!isOurs) host.onFault(error, exchange.id);
    const { status, headers, error: told } = errorAnswer(error, host.backing.redactFor(exchange.caller));
    exchange.error = told.code;
    host.backing.metrics.failed(told.code);
    const text = told.hint === null ? told.message : `${told.message} (${told.hint})`;
    exchange.sendJson(status, { success: false, error: text }, headers);
  }
}
