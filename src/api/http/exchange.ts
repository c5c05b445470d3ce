/** One request and its response, from the head to the end of both. */
import { randomUUID } from "node:crypto";
import { setMaxListeners } from "node:events";
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { pipeline } from "node:stream/promises";
import { AgentKernelError } from "../../core/errors.js";
import type { Caller } from "../auth/caller.js";
import type { Operation } from "../operations/operation.js";
import { parseJson } from "../schema/json-text.js";
import { eventHeaders, type RenameEvent } from "../sse.js";
import { type Abandonment, abandonmentBeside } from "./abandonment.js";
import { type BodySource, hasBody, mediaType, readBody } from "./body.js";
import type { ErrorAnswer } from "./error-answer.js";
import { sendPieces } from "./json-pieces.js";
import type { Reply } from "./reply.js";
import type { Match } from "./router.js";

/** Ids that callers bring are passed on where they are harmless in a log. */
const REQUEST_ID = /^[A-Za-z0-9._-]{1,64}$/;

/** How long a caller that sends more than is taken may take to hear of it. */
const REFUSAL_MS = 2000;
const MAX_DISCARDED_BYTES = 64 << 20;

export class Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly id: string;
  /** Aborted when nobody waits for the answer any more. */
  readonly signal: AbortSignal;
  /** The response is over, whoever ended it. */
  readonly over: Promise<void>;
  readonly source: BodySource;
  readonly startedAt = performance.now();
  /** The request and the response let go of it at their end. */
  readonly socket: Socket;
  readonly remote: string | null;
  readonly bytesWrittenBefore: number;
  readonly #abandonment: Abandonment;
  match: Match | null = null;
  /** What was asked for, where no route of ours says it. */
  other: "mcp" | "e2b" | "published" | null = null;
  caller: Caller | null = null;
  error: string | null = null;

  constructor(request: IncomingMessage, response: ServerResponse, abandon: AbortSignal, isWaiting: boolean) {
    this.request = request;
    this.response = response;
    const { "x-request-id": given } = request.headers;
    this.id = typeof given === "string" && REQUEST_ID.test(given) ? given : randomUUID();
    response.setHeader("x-request-id", this.id);
    response.setHeader("x-content-type-options", "nosniff");
    const abandonment = abandonmentBeside(abandon);
    this.#abandonment = abandonment;
    this.signal = abandonment.signal;
    // A batch has many that listen.
    setMaxListeners(0, this.signal);
    this.over = new Promise((resolve) => {
      if (response.closed) resolve();
      response.once("close", resolve);
    });
    response.once("close", () => {
      if (!response.writableFinished) abandonment.abort();
      abandonment.end();
    });
    this.source = { request, proceed: () => isWaiting && response.writeContinue() };
    this.socket = request.socket;
    this.remote = request.socket.remoteAddress ?? null;
    this.bytesWrittenBefore = request.socket.bytesWritten;
  }

  /** The connection is gone, and not because the answer was complete. */
  get isAbandoned(): boolean {
    return this.response.destroyed && !this.response.writableFinished;
  }

  /** Whoever asked may not any more. */
  cutOff(): void {
    this.#abandonment.abort();
    // What goes out, or comes in, has no other end.
    if (this.response.headersSent || !this.request.complete) this.socket.destroy();
  }

  sendJson(status: number, body: object, headers: Readonly<Record<string, string>> = {}): void {
    this.sendText(status, `${JSON.stringify(body)}\n`, headers);
  }

  /** `text` is JSON. */
  sendText(status: number, text: string, headers: Readonly<Record<string, string>> = {}): void {
    const { response, request } = this;
    if (response.headersSent) {
      // Too late to say it in order; what is cut off is known to be so.
      response.destroy();
      return;
    }
    response.writeHead(status, {
      "content-type": "application/json",
      "content-length": Buffer.byteLength(text),
      "cache-control": "no-store",
      ...headers,
    });
    if (request.complete) {
      response.end(text);
    } else {
      response.write(text);
      this.#discardRest();
    }
  }

  /**
   * A caller that still sends would not read the answer if the connection were closed under it. So the rest is read and
   * thrown away, as far as that has an end.
   */
  #discardRest(): void {
    const { request, response, socket } = this;
    const limit = socket.bytesRead + MAX_DISCARDED_BYTES;
    const timer = setTimeout(() => socket.destroy(), REFUSAL_MS);
    request.on("error", () => {});
    request.on("data", () => {
      if (socket.bytesRead > limit) socket.destroy();
    });
    request.once("close", () => {
      clearTimeout(timer);
      response.end();
    });
  }
}

/** `rename`: how events are called for this caller. */
export async function sendReply(exchange: Exchange, reply: Reply, rename?: RenameEvent): Promise<void> {
  const { response } = exchange;
  switch (reply.kind) {
    case "data":
      exchange.sendJson(reply.status, { success: true, data: reply.data });
      return;
    case "json":
      try {
        await sendPieces(response, reply.pieces, (text) => exchange.sendText(200, text));
      } finally {
        reply.release();
      }
      return;
    case "text":
      response.writeHead(200, {
        "content-type": reply.type,
        "content-length": Buffer.byteLength(reply.text),
        "cache-control": "no-store",
        ...reply.headers,
      });
      response.end(reply.text);
      return;
    case "bytes":
      response.writeHead(200, { "content-type": reply.type, "cache-control": "no-store", ...reply.headers });
      await pipeline(reply.content, response);
      return;
    case "events":
      response.writeHead(200, eventHeaders);
      response.flushHeaders();
      await reply.write(response, rename);
      return;
    case "raw":
      await reply.write(response);
  }
}

/** Undefined where there is none, or where it is of another kind that the operation takes as it is. */
export async function readJsonBody(
  { request, source }: Exchange,
  { body, isBodyOptional, otherBodies = [] }: Operation<never, never>,
  maxBytes: number,
): Promise<unknown> {
  const type = mediaType(request);
  if (body === undefined) {
    if (!hasBody(request)) return undefined;
    await readBody(source, maxBytes);
    return undefined;
  }
  if (!hasBody(request) && isBodyOptional === true) return undefined;
  if (otherBodies.some((other) => other.type === type)) return undefined;
  if (type !== "application/json") {
    const taken = ["application/json", ...otherBodies.map((other) => other.type)];
    throw new AgentKernelError(
      "unsupported_media_type",
      `the body is ${type ?? "of no stated kind"}, not ${taken.join(" or ")}`,
      {
        hint: `send Content-Type: ${taken[0]}`,
        details: { field: "Content-Type" },
      },
    );
  }
  return body.read(parseJson(await readBody(source, maxBytes)), "");
}

export function refuseUpgrade(socket: Duplex, { status, headers, error }: ErrorAnswer): void {
  const body = JSON.stringify({ success: false, error });
  const lines = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}`,
    "Content-Type: application/json",
    `Content-Length: ${Buffer.byteLength(body)}`,
    "Connection: close",
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ];
  socket.on("error", () => {});
  socket.end(`${lines.join("\r\n")}\r\n\r\n${body}`, () => socket.destroy());
}
