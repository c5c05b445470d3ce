/**
 * Ports of a sandbox, by the name of the host that is asked: what comes in is passed on as it is, and so is what the
 * server inside answers. The name of a sandbox is as long as a token, so that it opens ports that are public; others
 * need the traffic token.
 */
import { request as ask, type IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { Upgrade } from "../api/dialect.js";
import type { Exchange } from "../api/http/exchange.js";
import { OneConnection, ofOneHop, passed } from "../api/http/one-hop.js";
import { AgentKernelError, isAgentKernelError } from "../core/errors.js";
import { type E2bContext, type Found, findSandbox } from "./context.js";
import { sandboxGone } from "./errors.js";
import { wake } from "./sandboxes/wake.js";

interface PortRequest {
  readonly name: string;
  readonly port: number;
}

/** Between one hop and the next; and what is for us alone. */
const NOT_PASSED = new Set([
  ...ofOneHop,
  "e2b-sandbox-id",
  "e2b-sandbox-port",
  "e2b-traffic-access-token",
  "x-api-key",
  "x-access-token",
]);

export async function servePort(exchange: Exchange, wanted: PortRequest, context: E2bContext): Promise<void> {
  const { request, response, signal } = exchange;
  const found = await admitted(request, wanted, context, signal);
  const done = found.sandbox.use();
  try {
    const socket = await connected(found, wanted.port);
    await new Promise<void>((resolve, reject) => {
      const inner = ask({
        method: request.method ?? "GET",
        path: request.url ?? "/",
        headers: [...passed(request.rawHeaders, NOT_PASSED), "connection", "close"] as never,
        agent: new OneConnection(socket),
        setHost: false,
      });
      inner.once("response", (answer) => {
        response.writeHead(answer.statusCode ?? 502, passed(answer.rawHeaders, NOT_PASSED));
        answer.pipe(response);
        answer.once("error", () => response.destroy());
      });
      inner.once("error", (cause) => {
        if (response.headersSent) response.destroy();
        reject(new AgentKernelError("tool_failed", "The sandbox's server ended the connection", { cause }));
      });
      response.once("close", () => {
        inner.destroy();
        resolve();
      });
      exchange.source.proceed();
      request.pipe(inner);
    });
  } finally {
    done();
  }
}

/** WebSockets and whatever else a connection is turned into: bytes both ways. */
export async function upgradePort(
  { request, socket, head }: Upgrade,
  wanted: PortRequest,
  context: E2bContext,
): Promise<void> {
  const found = await admitted(request, wanted, context, new AbortController().signal);
  const inside = await connected(found, wanted.port);
  const done = found.sandbox.use();
  const headers = passed(request.rawHeaders, NOT_PASSED);
  const { upgrade = "", connection = "" } = request.headers;
  const lines = [`${request.method} ${request.url} HTTP/1.1`, `Connection: ${connection}`, `Upgrade: ${upgrade}`];
  for (let at = 0; at < headers.length; at += 2) lines.push(`${headers[at]}: ${headers[at + 1]}`);
  inside.write(`${lines.join("\r\n")}\r\n\r\n`, "latin1");
  if (head.length > 0) inside.write(head);
  await new Promise<void>((resolve) => {
    const end = () => {
      socket.destroy();
      inside.destroy();
      resolve();
    };
    for (const side of [socket, inside]) side.once("close", end).once("error", end);
    socket.pipe(inside);
    inside.pipe(socket);
  });
  done();
}

async function admitted(
  { headers }: IncomingMessage,
  { name, port }: PortRequest,
  context: E2bContext,
  signal: AbortSignal,
): Promise<Found> {
  const { host, tokens } = context;
  const found = findSandbox(context, name);
  if (found === undefined) throw sandboxGone(name);
  const { sandbox, record } = found;
  const { "e2b-traffic-access-token": token } = headers;
  const hasToken = typeof token === "string" && tokens.is("traffic", sandbox.id, token);
  if (!record.publicTraffic && !hasToken) {
    throw new AgentKernelError(
      "forbidden",
      "the ports of this sandbox are reached with its traffic access token alone",
    );
  }
  const caller = host.auth.callerOfOwner(sandbox.owner);
  if (caller === null) throw new AgentKernelError("unauthorized", "the key that the sandbox belongs to is not valid");
  host.admit(caller, ["sandboxes"]);
  if (port < 1 || port > 65_535) throw new AgentKernelError("invalid_argument", "the port is not from 1 to 65535");
  if (!sandbox.isServing) {
    if (!record.autoResume) throw sandboxGone(name);
    await wake(sandbox, host.backing, caller, signal);
    context.timeouts.watch(sandbox);
  }
  return found;
}

async function connected({ sandbox }: Found, port: number): Promise<Duplex> {
  try {
    return await sandbox.connectTcp(port);
  } catch (error) {
    if (!isAgentKernelError(error) || error.code !== "not_found") throw error;
    throw new AgentKernelError("tool_failed", `The sandbox is running but port ${port} is not open`, { cause: error });
  }
}
