/**
 * Servers inside named sandboxes, for callers who may use the sandbox. What comes back is the sandbox's: it is passed on
 * without what would speak for this server, and a browser keeps it in an origin of its own.
 */
import { type IncomingMessage, request as requestInside } from "node:http";
import type { Duplex } from "node:stream";
import { AgentKernelError, isAgentKernelError } from "../../core/errors.js";
import type { Sandbox } from "../../runtime/sandboxes/index.js";
import { type ApiCall, type Backing, sandboxFor } from "../call.js";
import { portWithin } from "../commands/key-limits.js";
import type { BodySource } from "../http/body.js";
import { OneConnection, ofOneHop, passed } from "../http/one-hop.js";
import type { Reply } from "../http/reply.js";

/** The caller's key and cookies are for this server alone, and the server inside is asked by its own name. */
const notPassedIn = new Set([...ofOneHop, "authorization", "proxy-authorization", "cookie", "host", "expect"]);

/** A sandbox decides nothing about this server's origin. */
const notPassedOut = new Set([
  ...ofOneHop,
  ...["set-cookie", "clear-site-data", "strict-transport-security", "alt-svc", "service-worker-allowed"],
  ...["content-security-policy", "x-content-type-options", "x-request-id", "www-authenticate", "proxy-authenticate"],
]);

/** Pages of a sandbox have an opaque origin: they share nothing with this server's own. */
const PAGE_POLICY = "sandbox allow-scripts allow-forms";

export async function proxyPort(
  { caller, params, request, source, signal }: ApiCall<undefined, undefined>,
  backing: Backing,
): Promise<Reply> {
  const sandbox = sandboxFor(caller, backing, params.name);
  portWithin(caller, params.port);
  return {
    kind: "raw",
    write: (response) =>
      backing.places.at(caller, signal, async () => {
        const done = sandbox.use();
        try {
          const answer = await answerOf(request, source, await connected(sandbox, params.port), params.port, signal);
          response.writeHead(answer.statusCode ?? 502, [
            ...passed(answer.rawHeaders, notPassedOut),
            "content-security-policy",
            PAGE_POLICY,
          ]);
          const over = new Promise<void>((resolve) => response.once("close", resolve));
          answer.once("error", () => response.destroy());
          response.once("close", () => answer.destroy());
          answer.pipe(response);
          await over;
        } finally {
          done();
        }
      }),
  };
}

interface UpgradeRequest extends Pick<ApiCall<undefined, undefined>, "caller" | "params" | "signal"> {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
}

/** A WebSocket: after both have agreed, bytes both ways. Rejects before anything was answered. */
export async function upgradePort(
  { caller, params, request, socket, head, signal }: UpgradeRequest,
  backing: Backing,
): Promise<void> {
  const sandbox = sandboxFor(caller, backing, params.name);
  portWithin(caller, params.port);
  await backing.places.at(caller, signal, async () => {
    const done = sandbox.use();
    const inside = await connected(sandbox, params.port).finally(done);
    const lines = [
      `GET ${pathInside(request)} HTTP/1.1`,
      `Host: localhost:${params.port}`,
      "Connection: Upgrade",
      "Upgrade: websocket",
    ];
    const headers = passed(request.rawHeaders, notPassedIn);
    for (let at = 0; at < headers.length; at += 2) lines.push(`${headers[at]}: ${headers[at + 1]}`);
    inside.write(`${lines.join("\r\n")}\r\n\r\n`, "latin1");
    if (head.length > 0) inside.write(head);
    const inUse = sandbox.use();
    await new Promise<void>((resolve) => {
      const end = () => {
        signal.removeEventListener("abort", end);
        socket.destroy();
        inside.destroy();
        resolve();
      };
      if (signal.aborted) end();
      signal.addEventListener("abort", end, { once: true });
      for (const side of [socket, inside]) side.once("close", end).once("error", end);
      socket.pipe(inside);
      inside.pipe(socket);
    }).finally(inUse);
  });
}

async function connected(sandbox: Sandbox, port: number): Promise<Duplex> {
  try {
    return await sandbox.connectTcp(port);
  } catch (cause) {
    if (!isAgentKernelError(cause) || cause.code !== "not_found") throw cause;
    throw new AgentKernelError("tool_failed", `nothing answers on port ${port} in the sandbox ${sandbox.name}`, {
      hint: cause.hint ?? "start the server first",
      details: { field: "port" },
      cause,
    });
  }
}

/** The head of what the server inside answers. Its body ends with the connection. */
function answerOf(
  request: IncomingMessage,
  { proceed }: BodySource,
  socket: Duplex,
  port: number,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const headers = passed(request.rawHeaders, notPassedIn);
    const inner = requestInside({
      method: request.method ?? "GET",
      path: pathInside(request),
      headers: [...headers, "Host", `localhost:${port}`, "Connection", "close"] as never,
      agent: new OneConnection(socket),
      setHost: false,
      signal,
    });
    const fail = (cause?: unknown) =>
      reject(new AgentKernelError("tool_failed", `the server on port ${port} gave no answer that is HTTP`, { cause }));
    inner.once("response", resolve);
    inner.once("error", fail);
    // Nobody asked for another protocol.
    inner.once("upgrade", (_, other) => {
      other.destroy();
      fail();
    });
    proceed();
    request.pipe(inner);
  });
}

/** What follows the port, as it was sent: encodings are the server's to read. */
function pathInside({ url = "" }: IncomingMessage): string {
  const [path = "", ...query] = url.split("?");
  const rest = path.split("/").slice(PARTS_BEFORE).join("/");
  return `/${rest}${query.length === 0 ? "" : `?${query.join("?")}`}`;
}

/** `/sandboxes/NAME/ports/PORT/` */
const PARTS_BEFORE = 5;
