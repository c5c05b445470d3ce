/** Requests to one server: with its key, within their time, sent again where that is safe, and answers taken apart. */
import { Deadline } from "./deadline.js";
import { ApiError, BadAnswerError } from "./errors.js";
import { environment, openPlace, type Place, type PlaceOptions } from "./place.js";
import { pauseBeforeRetry } from "./retry.js";
import { EventParser, type ServerEvent } from "./sse.js";
import type { MessageSocket, WireAnswer, WireRequest } from "./transport.js";
import { fromWire, isRecord } from "./wire.js";

export interface ConnectionOptions extends PlaceOptions {
  /** An API key or a JWT; otherwise AGENTKERNEL_API_KEY, else the token of the user's own server on loopback. */
  readonly apiKey?: string | undefined;
  /**
   * How long an answer may take beyond the time limits of the commands that it is about (120000). Of a stream: how long
   * nothing at all may come.
   */
  readonly requestTimeoutMs?: number | undefined;
  /** How often a request is sent again where that is safe (2). */
  readonly maxRetries?: number | undefined;
}

export interface CallOptions {
  /** Ends the call, and the command with it. */
  readonly signal?: AbortSignal | undefined;
  /** For this call, instead of the client's. */
  readonly requestTimeoutMs?: number | undefined;
}

export interface Call extends CallOptions {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  readonly json?: object;
  readonly bytes?: Uint8Array<ArrayBuffer>;
  /** Time limits of the commands that it is about. */
  readonly commandMs?: number;
}

const REQUEST_TIMEOUT_MS = 120_000;

export class Connection {
  readonly #options: ConnectionOptions;
  readonly #apiKey: string | undefined;
  #place: Promise<Place> | undefined;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.#apiKey = options.apiKey ?? environment("AGENTKERNEL_API_KEY");
  }

  /** What is in the envelope. */
  async data<T>(call: Call): Promise<T> {
    return await this.#ask(call, async (answer) => {
      const body = parsed(await textOf(answer));
      if (!isRecord(body) || body.success !== true) throw new BadAnswerError("the answer has no data");
      return fromWire(body.data) as T;
    });
  }

  async bytes(call: Call): Promise<Uint8Array<ArrayBuffer>> {
    return await this.#ask(call, bytesOf);
  }

  async text(call: Call): Promise<string> {
    return await this.#ask(call, textOf);
  }

  /** Leaving the loop hangs up, which ends the command. */
  async *events(call: Call): AsyncGenerator<ServerEvent> {
    using deadline = this.#deadline(call);
    const answer = await this.#attempts(call, deadline, async (head) => head);
    const parser = new EventParser();
    for await (const chunk of answer.body) {
      deadline.restart();
      yield* parser.push(chunk);
    }
  }

  /** A WebSocket, which lives for as long as its owner wants. */
  async socket(call: Call): Promise<MessageSocket> {
    using deadline = this.#deadline(call);
    const place = await this.#opened();
    const answer = await place.transport.openSocket({ ...this.#wire(call, place), signal: deadline.signal });
    if ("status" in answer) throw await refusal(answer);
    return answer;
  }

  async close(): Promise<void> {
    const place = await this.#place;
    this.#place = undefined;
    place?.transport.close();
  }

  async #ask<T>(call: Call, read: (answer: WireAnswer) => Promise<T>): Promise<T> {
    using deadline = this.#deadline(call);
    return await this.#attempts(call, deadline, read);
  }

  #deadline({ commandMs = 0, requestTimeoutMs, signal }: Call): Deadline {
    const ownMs = requestTimeoutMs ?? this.#options.requestTimeoutMs ?? REQUEST_TIMEOUT_MS;
    return new Deadline(commandMs + ownMs, signal);
  }

  async #attempts<T>(call: Call, deadline: Deadline, read: (answer: WireAnswer) => Promise<T>): Promise<T> {
    const { maxRetries = 2 } = this.#options;
    for (let attempt = 0; ; attempt++) {
      try {
        return await read(await this.#send(call, deadline.signal));
      } catch (error) {
        const pauseMs = attempt < maxRetries ? pauseBeforeRetry(error, call.method, attempt) : null;
        if (pauseMs === null) throw error;
        await deadline.pause(pauseMs);
      }
    }
  }

  async #send(call: Call, signal: AbortSignal): Promise<WireAnswer> {
    if (signal.aborted) throw signal.reason;
    const place = await this.#opened();
    const answer = await place.transport.send({ ...this.#wire(call, place), signal });
    if (answer.status < 400) return answer;
    throw await refusal(answer);
  }

  #opened(): Promise<Place> {
    this.#place ??= openPlace(this.#options);
    return this.#place;
  }

  #wire({ method, path, query = {}, json, bytes }: Call, { localToken }: Place): Omit<WireRequest, "signal"> {
    const headers: Record<string, string> = {};
    const key = this.#apiKey ?? localToken();
    if (key !== undefined) headers.authorization = `Bearer ${key}`;
    if (json !== undefined) headers["content-type"] = "application/json";
    if (bytes !== undefined) headers["content-type"] = "application/octet-stream";
    const body = json === undefined ? (bytes ?? null) : JSON.stringify(json);
    return { method, path: path + queryText(query), headers, body };
  }
}

function queryText(query: NonNullable<Call["query"]>): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined);
  return given.length === 0 ? "" : `?${new URLSearchParams(given.map(([key, value]) => [key, String(value)]))}`;
}

async function refusal(answer: WireAnswer): Promise<Error> {
  const text = await textOf(answer);
  const seconds = Number(answer.header("retry-after") ?? Number.NaN);
  const body = parsed(text);
  const error = isRecord(body) && isRecord(body.error) ? body.error : null;
  if (typeof error?.code !== "string" || typeof error.message !== "string") {
    return new BadAnswerError(`the answer was ${answer.status}, and not in the form of agentkernel's errors`);
  }
  const { code, message, hint, details } = error;
  return new ApiError(
    {
      code,
      message,
      hint: typeof hint === "string" ? hint : null,
      details: isRecord(details) ? details : {},
    },
    answer.status,
    Number.isNaN(seconds) ? null : seconds * 1000,
  );
}

export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new BadAnswerError("the answer is not JSON", { cause });
  }
}

async function bytesOf({ body }: WireAnswer): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  const whole = new Uint8Array(chunks.reduce((total, { length }) => total + length, 0));
  let start = 0;
  for (const chunk of chunks) {
    whole.set(chunk, start);
    start += chunk.length;
  }
  return whole;
}

async function textOf(answer: WireAnswer): Promise<string> {
  return new TextDecoder().decode(await bytesOf(answer));
}
