/**
 * An HTTP proxy on streams that it is given: CONNECT, upgrades and plain requests. Node parses the requests, strictly;
 * what is asked for is opened by the gateway under the same rules as everything else.
 */
import { Buffer } from "node:buffer";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { OutgoingRefusal } from "../../core/egress.js";
import { type Authority, hostText, parseAuthority } from "../host.js";
import { isOpened, type Opened } from "../opener.js";
import { httpAnswer } from "../refusal-answer.js";
import type { ProxyContext } from "./context.js";
import { forward } from "./forward.js";
import { endToEnd, type Field, fieldsOf, valuesOf } from "./headers.js";
import { hostField, pathOf, plainTarget, statusOf } from "./plain-target.js";

/** Between two requests of one client. */
const KEEP_ALIVE_MS = 60_000;

/** Requests that a client has sent ahead of the answers: they are memory of ours. */
const MOST_AHEAD = 64;

/** Of one client. */
interface RequestQueue {
  /** With the one that is being answered. */
  length: number;
  last: Promise<void> | null;
}

export class HttpProxy {
  readonly #home: ProxyContext;
  readonly #server: Server;
  readonly #queues = new WeakMap<Duplex, RequestQueue>();
  readonly #timers = new WeakMap<Duplex, NodeJS.Timeout>();

  constructor(context: ProxyContext) {
    this.#home = context;
    // The server never listens, so that Node's own timers for heads do not run; ours do.
    const server = createServer({
      maxHeaderSize: context.limits.headBytes,
      requireHostHeader: false,
      keepAliveTimeout: 0,
    });
    // A client that has sent its request and ends its side still wants the answer.
    this.#server = Object.assign(server, { httpAllowHalfOpen: true, timeout: 0 });
    server.on("connect", (request, stream, head) => this.#run(stream, () => this.#connect(request, stream, head)));
    server.on("upgrade", (request, stream, head) => this.#run(stream, () => this.#upgrade(request, stream, head)));
    server.on("checkContinue", (request, response) => server.emit("request", request, response));
    server.on("request", (request, response) => {
      const stream = request.socket;
      this.#stopTimer(stream);
      this.#inTurn(stream, () => this.#forward(request, response)).catch(() => stream.destroy());
    });
    server.on("clientError", (error, stream) => {
      if (stream.writable) stream.end(httpAnswer(400, `the request is malformed: ${error.message}`));
      else stream.destroy();
    });
  }

  serve(stream: Duplex): void {
    stream.once("close", () => this.#stopTimer(stream));
    this.#startTimer(stream, this.#home.limits.handshakeMs);
    this.#server.emit("connection", stream);
  }

  #run(stream: Duplex, work: () => Promise<void>): void {
    this.#stopTimer(stream);
    stream.on("error", () => stream.destroy());
    this.#inTurn(stream, work).catch(() => stream.destroy());
  }

  /** What one client asks for without waiting for answers is done one after the other: it has one connection's place. */
  #inTurn(stream: Duplex, work: () => Promise<void>): Promise<void> {
    const queue = this.#queues.get(stream) ?? { length: 0, last: null };
    this.#queues.set(stream, queue);
    if (queue.length > MOST_AHEAD) return Promise.reject(new Error("too many requests without waiting for answers"));
    queue.length++;
    const done = (queue.last === null ? work() : queue.last.then(work)).finally(() => queue.length--);
    queue.last = done;
    return done;
  }

  async #forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const stream = request.socket;
    if (stream.destroyed) return;
    this.#stopTimer(stream);
    response.once("close", () => this.#startTimer(stream, KEEP_ALIVE_MS));
    const target = plainTarget(request);
    const opened = "kind" in target ? target : this.#open(stream, target, 80);
    await forward(request, response, opened, target, this.#home.limits.idleMs);
  }

  async #connect(request: IncomingMessage, stream: Duplex, head: Buffer): Promise<void> {
    const target = parseAuthority(request.url ?? "");
    if ("kind" in target) return refuse(stream, 400, `the address to CONNECT to is refused: ${target.why}`);
    if (target.port === null) return refuse(stream, 400, "the address to CONNECT to has no port");
    const opened = await this.#open(stream, target, target.port);
    if (!isOpened(opened)) return refuse(stream, statusOf[opened.code], opened.message);
    stream.write("HTTP/1.1 200 Connection Established\r\n\r\n");
    this.#home.carry(stream, opened, head);
  }

  /** The request goes on in our own words, and the gateway sees it and its answer like any other's. */
  async #upgrade(request: IncomingMessage, stream: Duplex, head: Buffer): Promise<void> {
    const target = plainTarget(request);
    if ("kind" in target) return refuse(stream, 400, target.why);
    const opened = await this.#open(stream, target, 80);
    if (!isOpened(opened)) return refuse(stream, statusOf[opened.code], opened.message);
    const lines = [`${request.method} ${pathOf(request.url ?? "")} HTTP/1.1`, `Host: ${hostField(target)}`];
    const fields = fieldsOf(request.rawHeaders);
    for (const [name, value] of [...endToEnd(fields), ...framing(fields), ...upgradeFields(fields)]) {
      if (name.toLowerCase() !== "host") lines.push(`${name}: ${value}`);
    }
    const own = Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1");
    this.#home.carry(stream, opened, Buffer.concat([own, head]));
  }

  async #open(stream: Duplex, target: Authority, defaultPort: number): Promise<Opened | OutgoingRefusal> {
    const gone = new AbortController();
    const leave = () => gone.abort(new Error("the client is gone"));
    stream.once("close", leave);
    try {
      return await this.#home.open(target.host, hostText(target.host), target.port ?? defaultPort, gone.signal);
    } finally {
      stream.off("close", leave);
    }
  }

  #startTimer(stream: Duplex, afterMs: number): void {
    this.#stopTimer(stream);
    if (!stream.destroyed)
      this.#timers.set(
        stream,
        setTimeout(() => stream.destroy(), afterMs),
      );
  }

  #stopTimer(stream: Duplex): void {
    clearTimeout(this.#timers.get(stream));
  }
}

function refuse(stream: Duplex, status: number, reason: string): void {
  stream.resume();
  stream.end(httpAnswer(status, reason));
}

/** HTTP/2 without TLS would name a host per request where nobody can read it; it is not passed on. */
function upgradeFields(fields: readonly Field[]): Field[] {
  const protocols = valuesOf(fields, "upgrade").filter((value) => !value.toLowerCase().includes("h2c"));
  return protocols.length === 0
    ? [["Connection", "keep-alive"]]
    : [
        ["Connection", "Upgrade"],
        ["Upgrade", protocols.join(", ")],
      ];
}

const framing = (fields: readonly Field[]): Field[] =>
  valuesOf(fields, "transfer-encoding").map((value) => ["Transfer-Encoding", value]);
