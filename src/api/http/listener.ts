/** A server on TCP, hardened against clients that say little, slowly, or without end. */
import { lookup } from "node:dns/promises";
import { createServer as createHttpServer, type Server } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { isIP, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { AgentKernelError } from "../../core/errors.js";
import { listenMarked } from "../../core/own-ports.js";
import { Newcomers } from "./newcomers.js";
import { serverOptions } from "./server-options.js";
import { readTlsFiles, type TlsFiles } from "./tls-files.js";

export interface TcpPlace {
  readonly host: string;
  /** 0: any that is free. */
  readonly port: number;
  readonly tls: TlsFiles | null;
}

const MAX_HEADERS = 100;
const MAX_CONNECTIONS = 4096;

function harden(server: Server): void {
  server.maxHeadersCount = MAX_HEADERS;
  server.maxConnections = MAX_CONNECTIONS;
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => refuseMalformed(error, socket));
}

const malformedAnswers: Readonly<Record<string, readonly [string, string]>> = {
  HPE_HEADER_OVERFLOW: ["400 Bad Request", "the request's head is too large"],
  ERR_HTTP_REQUEST_TIMEOUT: ["408 Request Timeout", "the request did not come in time"],
};

/** Such a request never becomes one of the API's, but its sender gets the one form of errors all the same. */
function refuseMalformed({ code = "" }: NodeJS.ErrnoException, socket: Duplex): void {
  if (!socket.writable || code === "ECONNRESET") {
    socket.destroy();
    return;
  }
  const [status, message] = malformedAnswers[code] ?? ["400 Bad Request", "the request is no HTTP that is understood"];
  const body = JSON.stringify({ success: false, error: { code: "invalid_argument", message, hint: null } });
  const head = `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\nConnection: close\r\n`;
  socket.end(`${head}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`, () => socket.destroy());
}

interface TcpServer {
  readonly server: Server;
  readonly newcomers: Newcomers;
}

export function createTcpServer({ tls }: TcpPlace): TcpServer {
  const server =
    tls === null
      ? createHttpServer(serverOptions)
      : (createHttpsServer({
          ...serverOptions,
          ...readTlsFiles(tls),
          minVersion: "TLSv1.2",
        }) as unknown as Server);
  harden(server);
  const newcomers = new Newcomers();
  server.on("connection", (socket: Socket) => newcomers.enter(socket));
  return { server, newcomers };
}

/** Rejects where a server could not listen there now; nobody is served meanwhile. */
export async function tryListening(place: TcpPlace): Promise<void> {
  const { server } = createTcpServer(place);
  server.on("connection", (socket) => socket.destroy());
  await listenOn(server, place);
  await new Promise((resolve) => server.close(resolve));
}

/** Rejects where it is a name that means nothing here. */
export async function checkName({ host, port }: TcpPlace): Promise<void> {
  if (isIP(host) !== 0) return;
  await lookup(host).catch((cause: NodeJS.ErrnoException) => {
    throw notListening(host, port, cause);
  });
}

interface Listening {
  readonly url: string;
  readonly port: number;
}

export async function listenOn(server: Server, { host, port, tls }: TcpPlace): Promise<Listening> {
  const actual = await listenMarked(server, { host, port }).catch((cause: NodeJS.ErrnoException) => {
    throw notListening(host, port, cause);
  });
  const url = `${tls === null ? "http" : "https"}://${isIP(host) === 6 ? `[${host}]` : host}:${actual}`;
  return { url, port: actual };
}

function notListening(host: string, port: number, cause: NodeJS.ErrnoException): AgentKernelError {
  const why: Readonly<Record<string, string>> = {
    EADDRINUSE: "somebody listens there already",
    EADDRNOTAVAIL: "this machine has no such address",
    EACCES: "ports below 1024 are for root",
    ENOTFOUND: "there is no such name",
  };
  return new AgentKernelError(
    "invalid_argument",
    `${host}:${port} cannot be listened on: ${why[cause.code ?? ""] ?? cause.message}`,
    {
      hint: "choose another with --host and --port",
      cause,
    },
  );
}

/** Only the machine itself reaches it. Names count where they can mean nothing else. */
export function isLoopbackHost(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(host);
}
