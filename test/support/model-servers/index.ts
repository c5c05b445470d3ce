/**
 * Model servers that follow a script: each speaks one vendor's protocol on loopback, well enough for that vendor's real
 * command line to believe it, and tells the agent to call the tools that a test names. What the agent sent is recorded.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo } from "node:net";
import { answerAnthropic } from "./anthropic.js";
import { answerGemini } from "./gemini.js";
import { answerResponses } from "./openai-responses.js";

/** One turn of the model. */
export type Step =
  | { readonly tool: string; readonly input: Readonly<Record<string, unknown>> }
  | { readonly text: string };

export type Protocol = "anthropic" | "openai-responses" | "gemini";

export interface Seen {
  /** Tools that the agent offered with its last request. */
  tools: readonly string[];
  /** The fields of each of them, where the protocol says so. */
  fields: Readonly<Record<string, readonly string[]>>;
  /** What tools answered, as the model was told, in order. */
  results: readonly string[];
  /** Everything that was said to the model besides. */
  said: string;
  /** The keys that came with requests. */
  readonly keys: string[];
  /** Paths that were asked for and are not served. */
  readonly others: string[];
}

/** What a protocol makes of one request. */
export interface Exchange {
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly script: readonly Step[];
  readonly seen: Seen;
  readonly response: ServerResponse;
}

/** False: not a path of this protocol. */
type Answer = (exchange: Exchange) => boolean;

const protocols: Readonly<Record<Protocol, Answer>> = {
  anthropic: answerAnthropic,
  "openai-responses": answerResponses,
  gemini: answerGemini,
};

interface ModelServer {
  readonly url: string;
  readonly seen: Seen;
  close(): void;
}

/** Where it listens, if not on loopback without TLS. */
export interface ModelPlace {
  readonly address: string;
  readonly port: number;
  readonly tls: { readonly key: string; readonly cert: string };
}

export async function startModelServer(
  protocol: Protocol,
  script: readonly Step[],
  place: ModelPlace | null = null,
): Promise<ModelServer> {
  const seen: Seen = { tools: [], fields: {}, results: [], said: "", keys: [], others: [] };
  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    seen.keys.push(...keysOf(request));
    void read(request).then((body) => {
      const path = request.url ?? "/";
      if (protocols[protocol]({ path, body, script, seen, response })) return;
      seen.others.push(`${request.method} ${path}`);
      response.writeHead(404, { "content-type": "application/json" }).end('{"error":{"message":"not served"}}');
    });
  };
  const server = place === null ? createServer(answer) : createSecureServer(place.tls, answer);
  const port = await listen(server, place?.address ?? "127.0.0.1", place?.port ?? 0);
  return { url: `http://127.0.0.1:${port}`, seen, close: () => server.close() };
}

/** The step that follows so many answers of tools; after the last one the model has nothing more to say. */
export function stepAfter(script: readonly Step[], results: number): Step {
  return script[results] ?? { text: "done" };
}

export interface ServerEvent {
  readonly type?: string;
  readonly [field: string]: unknown;
}

export function sendEvents(response: ServerResponse, events: readonly ServerEvent[]): void {
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
  for (const event of events) {
    if (event.type !== undefined) response.write(`event: ${event.type}\n`);
    response.write(`data: ${JSON.stringify(event)}\n\n`);
  }
  response.end();
}

/** The text in whatever a protocol wraps it in. */
export function textIn(value: unknown): string {
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return value.map(textIn).join("");
  if (typeof value !== "object" || value === null) return "";
  const { text, content, output } = value as Readonly<Record<string, unknown>>;
  return textIn(text ?? content ?? output ?? Object.values(value));
}

async function read(request: IncomingMessage): Promise<Readonly<Record<string, unknown>>> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  try {
    return JSON.parse(Buffer.concat(chunks).toString("utf8")) as Readonly<Record<string, unknown>>;
  } catch {
    return {};
  }
}

/** The key in whichever header the vendor has it. */
function keysOf({ headers }: IncomingMessage): readonly string[] {
  return [headers["x-api-key"], headers["x-goog-api-key"], headers.authorization].flatMap((value) => value ?? []);
}

async function listen(server: Server, address: string, port: number): Promise<number> {
  await new Promise<void>((resolve) => server.listen(port, address, resolve));
  return (server.address() as AddressInfo).port;
}
