/** By Node's own client: over TCP, TLS or a Unix socket, on connections that are kept. */
import http from "node:http";
import https from "node:https";
import { START_HINT, TransportError } from "../errors.js";
import type { MessageSocket, Transport, WireAnswer, WireRequest } from "../transport.js";
import { agreement, NodeSocket } from "./node-socket.js";

export class NodeTransport implements Transport {
  readonly #place: string;
  readonly #target: http.RequestOptions;
  readonly #prefix: string;
  readonly #module: typeof http | typeof https;
  readonly #agent: http.Agent;

  /** `unix:///path`, `http://host:port/prefix` or `https://…` */
  constructor(baseUrl: string) {
    const url = new URL(baseUrl);
    const isUnix = url.protocol === "unix:";
    this.#place = baseUrl;
    this.#module = url.protocol === "https:" ? https : http;
    this.#agent = new this.#module.Agent({ keepAlive: true });
    this.#prefix = isUnix ? "" : url.pathname.replace(/\/$/, "");
    this.#target = isUnix
      ? { socketPath: decodeURIComponent(url.pathname), host: "localhost" }
      : { host: url.hostname.replace(/^\[|\]$/g, ""), port: url.port };
  }

  send({ method, path, headers, body, signal }: WireRequest): Promise<WireAnswer> {
    return new Promise((resolve, reject) => {
      const request = this.#module.request({
        ...this.#target,
        agent: this.#agent,
        method,
        path: this.#prefix + path,
        headers: { ...headers, ...(body === null ? {} : { "content-length": String(Buffer.byteLength(body)) }) },
        signal,
      });
      request.once("response", (response) => resolve(answerOf(response, signal)));
      request.on("error", (cause) => reject(signal.aborted ? signal.reason : this.#unreached(cause)));
      request.end(body ?? undefined);
    });
  }

  openSocket({ path, headers, signal }: WireRequest): Promise<MessageSocket | WireAnswer> {
    const { asked, isAccepted } = agreement();
    return new Promise((resolve, reject) => {
      const request = this.#module.request({
        ...this.#target,
        path: this.#prefix + path,
        headers: { ...headers, ...asked },
        signal,
      });
      request.once("upgrade", (response, socket, head) => {
        if (isAccepted(response)) resolve(new NodeSocket(socket, head));
        else reject(new TransportError("the server does not speak WebSocket"));
      });
      request.once("response", (response) => resolve(answerOf(response, signal)));
      request.on("error", (cause) => reject(signal.aborted ? signal.reason : this.#unreached(cause)));
      request.end();
    });
  }

  close(): void {
    this.#agent.destroy();
  }

  #unreached(cause: Error): TransportError {
    const notSent = isUnsent(cause);
    const message = `${this.#place} could not be reached: ${cause.message}${notSent ? `. ${START_HINT}` : ""}`;
    return new TransportError(message, { cause, isUnsent: notSent });
  }
}

function answerOf(response: http.IncomingMessage, signal: AbortSignal): WireAnswer {
  return {
    status: response.statusCode ?? 0,
    header: (name) => {
      const value = response.headers[name];
      return Array.isArray(value) ? value.join(", ") : (value ?? null);
    },
    body: chunksOf(response, signal),
  };
}

async function* chunksOf(response: http.IncomingMessage, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  try {
    yield* response;
  } catch (cause) {
    if (signal.aborted) throw signal.reason;
    throw new TransportError("the connection broke", { cause });
  } finally {
    // Of a body that was read to its end the connection is free again already.
    if (!response.readableEnded) response.destroy();
  }
}

function isUnsent(error: Error): boolean {
  return "syscall" in error && (error.syscall === "connect" || error.syscall === "getaddrinfo");
}
