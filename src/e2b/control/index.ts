/** The API of E2B's service: a key in `X-API-KEY`, JSON both ways. */
import type { Door } from "../../api/auth/browsers.js";
import { hasBody, readBody } from "../../api/http/body.js";
import type { Exchange } from "../../api/http/exchange.js";
import { parseJson } from "../../api/schema/json-text.js";
import { AgentKernelError } from "../../core/errors.js";
import type { E2bContext } from "../context.js";
import { fromE2bKey } from "../key-form.js";
import type { ControlHandler } from "./call.js";
import { create } from "./create.js";
import * as life from "./life.js";
import { list } from "./list.js";
import * as missing from "./missing.js";
import * as sandboxes from "./sandboxes.js";
import * as snapshots from "./snapshots.js";

/** `{}` stands for one segment. */
const routes: readonly (readonly [string, ControlHandler])[] = [
  ["POST /sandboxes", create],
  ["POST /v2/sandboxes", create],
  ["GET /sandboxes", list],
  ["GET /v2/sandboxes", list],
  ["GET /sandboxes/{}", sandboxes.get],
  ["DELETE /sandboxes/{}", sandboxes.kill],
  ["GET /sandboxes/{}/metrics", sandboxes.metrics],
  ["PUT /sandboxes/{}/network", sandboxes.setNetwork],
  ["POST /sandboxes/{}/connect", life.connect],
  ["POST /v2/sandboxes/{}/connect", life.connect],
  ["POST /sandboxes/{}/resume", life.connect],
  ["POST /sandboxes/{}/pause", life.pause],
  ["POST /sandboxes/{}/timeout", life.setTimeout],
  ["POST /sandboxes/{}/refreshes", life.refresh],
  ["POST /sandboxes/{}/fork", snapshots.fork],
  ["POST /sandboxes/{}/snapshots", snapshots.take],
  ["GET /snapshots", snapshots.list],
  ["DELETE /templates/{}", snapshots.remove],
  ["GET /templates/aliases/{}", missing.alias],
  ...missing.routes,
];

export async function serveControl(exchange: Exchange, door: Door, context: E2bContext): Promise<void> {
  const { request, source, signal, id } = exchange;
  const { host } = context;
  const { "x-api-key": key, authorization } = request.headers;
  if (typeof key !== "string" && authorization === undefined) {
    throw new AgentKernelError("unauthorized", "a key is needed", {
      hint: "set E2B_API_KEY to what agentkernel keys create --e2b prints",
    });
  }
  const caller = await (typeof key === "string"
    ? host.auth.callerOfKey(fromE2bKey(key), request, door)
    : host.auth.callerOf(request, door));
  exchange.caller = caller;
  door.newcomers?.isKnown(exchange.socket);
  host.admit(caller, ["sandboxes"]);
  host.watchOver(exchange, caller);
  const [handle, params] = routeOf(request.method ?? "", request.url ?? "");
  const body = hasBody(request) ? await readBody(source, host.maxBodyBytes) : null;
  const { searchParams: query } = new URL(request.url ?? "", "http://localhost");
  const port = exchange.socket.localPort ?? 0;
  const reply = await handle({
    ...context,
    id,
    caller,
    params,
    query,
    read: (shape) => shape.read(body === null || body.length === 0 ? new Map() : parseJson(body), ""),
    address: port === (door.isTls ? 443 : 80) ? context.domain : `${context.domain}:${port}`,
    request,
    source,
    signal,
  });
  if (reply.body === undefined) {
    exchange.response.writeHead(reply.status, { "cache-control": "no-store" }).end();
    return;
  }
  exchange.sendJson(reply.status, reply.body, reply.headers);
}

function routeOf(method: string, url: string): readonly [ControlHandler, readonly string[]] {
  const segments = segmentsOf(url);
  for (const [route, handle] of routes) {
    const [wantedMethod, path = ""] = route.split(" ");
    const wanted = path.split("/").slice(1);
    const fits = wanted.length === segments.length && wanted.every((one, at) => one === "{}" || one === segments[at]);
    if (wantedMethod === method && fits) return [handle, segments.filter((_, at) => wanted[at] === "{}")];
  }
  throw new AgentKernelError(
    "not_found",
    `${method} ${segments.map(() => "…").join("/")}: there is no such path here`,
    {
      hint: "the documentation of agentkernel, page E2B, lists what is served",
    },
  );
}

function segmentsOf(url: string): readonly string[] {
  const [path = ""] = url.split("?", 1);
  try {
    return path.split("/").slice(1).map(decodeURIComponent);
  } catch (cause) {
    throw new AgentKernelError("invalid_argument", "the path has a percent sign that encodes no character", {
      details: { field: "path" },
      cause,
    });
  }
}
