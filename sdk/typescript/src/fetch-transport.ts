/** By `fetch`: in browsers, in Bun and Deno, and wherever one is given. */
import { AgentKernelError, START_HINT, TransportError } from "./errors.js";
import { globalSocket } from "./global-socket.js";
import type { MessageSocket, Transport, WireAnswer, WireRequest } from "./transport.js";

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export class FetchTransport implements Transport {
  readonly #baseUrl: string;
  readonly #fetch: Fetch;

  constructor(baseUrl: string, fetchWith: Fetch) {
    this.#baseUrl = baseUrl;
    this.#fetch = fetchWith;
  }

  async send({ method, path, headers, body, signal }: WireRequest): Promise<WireAnswer> {
    let response: Response;
    try {
      // A redirect would take the key elsewhere.
      response = await this.#fetch(this.#baseUrl + path, { method, headers, body, signal, redirect: "error" });
    } catch (cause) {
      if (signal.aborted) throw signal.reason;
      const notSent = isUnsent(cause);
      const message = `${this.#baseUrl} could not be reached${notSent ? `. ${START_HINT}` : ""}`;
      throw new TransportError(message, { cause, isUnsent: notSent });
    }
    return {
      status: response.status,
      header: (name) => response.headers.get(name),
      body: chunksOf(response, signal),
    };
  }

  async openSocket({ path, headers, signal }: WireRequest): Promise<MessageSocket> {
    if ("authorization" in headers) {
      throw new AgentKernelError(
        "WebSockets of browsers, Bun and Deno carry no key here; attach from Node, or without one",
      );
    }
    return await globalSocket((this.#baseUrl + path).replace(/^http/, "ws"), signal);
  }

  close(): void {}
}

async function* chunksOf({ body }: Response, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  if (body === null) return;
  const reader = body.getReader();
  let isDone = false;
  try {
    while (!isDone) {
      const { done, value } = await reader.read();
      isDone = done;
      if (value !== undefined) yield value;
    }
  } catch (cause) {
    if (signal.aborted) throw signal.reason;
    throw new TransportError("the connection broke", { cause });
  } finally {
    // Of a body that failed, cancelling fails alike.
    if (!isDone) await reader.cancel().catch(() => {});
  }
}

/** Browsers do not say. */
function isUnsent(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "";
  return ["ECONNREFUSED", "ENOENT", "ENOTFOUND", "EAI_AGAIN", "UND_ERR_CONNECT_TIMEOUT"].includes(code);
}
