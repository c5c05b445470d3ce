/** A request of a published SDK that was admitted. */
import type { IncomingMessage } from "node:http";
import type { Caller } from "../api/auth/caller.js";
import type { ApiCall, Backing } from "../api/call.js";
import type { BodySource } from "../api/http/body.js";
import type { Exchange } from "../api/http/exchange.js";
import type { Reply } from "../api/http/reply.js";
import type { Json } from "../api/schema/json-text.js";

export interface PublishedCall {
  readonly id: string;
  readonly caller: Caller;
  /** What stands where the path has a name. */
  readonly params: readonly string[];
  readonly query: URLSearchParams;
  readonly body: Json;
  readonly backing: Backing;
  readonly request: IncomingMessage;
  readonly source: BodySource;
  readonly signal: AbortSignal;
  readonly exchange: Exchange;
}

/** What an SDK gets as `data`. */
export type PublishedHandler = (call: PublishedCall) => Promise<unknown>;

/** Instead of data: the answer went out as events. */
export const STREAMED: unique symbol = Symbol("streamed");

/** The same caller's request to an operation of the HTTP interface. */
export function apiCall<Body, Query = undefined>(
  { id, caller, request, source, signal }: PublishedCall,
  params: Partial<ApiCall<Body, Query>["params"]>,
  body: Body,
  query?: Query,
): ApiCall<Body, Query> {
  const whole = { name: "", path: "", exec: "", port: 0, ...params };
  return { id, caller, params: whole, query: query as Query, body, request, source, signal };
}

/** The data of a reply, as a caller of the HTTP interface would have it. */
// biome-ignore lint/suspicious/noExplicitAny: answers of our own operations, whose shapes their tests hold
export async function dataOf(reply: Reply): Promise<any> {
  if (reply.kind === "data") return reply.data;
  if (reply.kind !== "json") throw new TypeError(`an answer of the kind ${reply.kind} is no data`);
  try {
    let text = "";
    for await (const piece of reply.pieces) text += piece;
    return JSON.parse(text).data;
  } finally {
    reply.release();
  }
}
