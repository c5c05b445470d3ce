/** The daemon's socket: HTTP, on which a client's command line is an upgrade. */
import { Buffer } from "node:buffer";
import { chmodSync, renameSync } from "node:fs";
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { serverOptions } from "../api/http/server-options.js";
import { AgentKernelError } from "../core/errors.js";
import { ClientConnection, type ConnectionOptions, refuse } from "./client/connection.js";
import { readClientHead } from "./client/request-head.js";
import { freshName, shortPath } from "./socket-folder.js";
import type { DaemonPlace } from "./socket-place.js";

interface ServerParts extends ConnectionOptions {
  readonly build: string;
  /** The answer to a request, or null where there is no such thing. */
  readonly answer: (method: string, path: string) => Promise<object> | null;
  /** Whatever is not the daemon's own business. Never rejects. */
  readonly serve: (request: IncomingMessage, response: ServerResponse, isWaiting: boolean) => Promise<void>;
  readonly upgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => Promise<void>;
}

/** Listens when it resolves: the socket appears whole, in the place of one that a dead daemon left. */
export async function listen({ folder, socketName }: DaemonPlace, parts: ServerParts): Promise<Server> {
  const http = createHttpServer(serverOptions, (request, response) => void respond(request, response, parts));
  http.on("checkContinue", (request, response) => void respond(request, response, parts, true));
  http.on("upgrade", (request, socket, head) => {
    const wanted = request.url === "/client" && request.headers.upgrade === "agentkernel-client";
    if (wanted) admit(socket, head, String(request.headers["agentkernel-build"]), parts);
    else void parts.upgrade(request, socket, head);
  });
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    parts.resident.pool.prescanAnother();
    socket.on("error", () => {});
    socket.once("data", (bytes) => {
      const client = readClientHead(bytes);
      if (client !== null) admit(socket, client.rest, client.build, parts);
      else passOn(socket, bytes, (connection) => http.emit("connection", connection));
    });
  });
  server.once("close", () => http.close());
  const short = shortPath(folder);
  // Under a name of its own: closing the server removes it, and by then another daemon may be at this place.
  const fresh = join(short, freshName(socketName));
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen({ path: fresh, readableAll: false, writableAll: false }, () => resolve());
  });
  chmodSync(fresh, 0o600);
  renameSync(fresh, join(short, socketName));
  return server;
}

function admit(socket: Duplex, head: Buffer, build: string, parts: ServerParts): void {
  if (build === parts.build) new ClientConnection(socket, head, parts);
  else refuse(socket, "the daemon is of another build");
}

/** To somebody who reads it from its first byte. */
function passOn(socket: Socket, bytes: Buffer, to: (socket: Socket) => void): void {
  socket.pause();
  socket.unshift(bytes);
  to(socket);
  socket.resume();
}

async function respond(
  request: IncomingMessage,
  response: ServerResponse,
  parts: ServerParts,
  isWaiting = false,
): Promise<void> {
  const [path = ""] = (request.url ?? "").split("?");
  const answer = parts.answer(request.method ?? "", path);
  if (answer === null) return await parts.serve(request, response, isWaiting);
  try {
    send(response, 200, { success: true, data: await answer });
  } catch (error) {
    parts.onFault(error);
    const fault = new AgentKernelError("internal", "the daemon failed; its log says more", { cause: error });
    send(response, 500, { success: false, error: { code: fault.code, message: fault.message, hint: null } });
  }
}

function send(response: ServerResponse, status: number, body: object): void {
  const text = `${JSON.stringify(body)}\n`;
  response.writeHead(status, { "content-type": "application/json", "content-length": Buffer.byteLength(text) });
  response.end(text);
}
