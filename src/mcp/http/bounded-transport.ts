/**
 * The SDK's transport for HTTP, which keeps whatever a client does not read: here news that nobody reads are dropped
 * instead. Answers are not, one a request. Loaded with the first session: only servers need it.
 */
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import type { Exchange } from "../../api/http/exchange.js";
import type { RequestId } from "../requests-at-work.js";

/** What a stream may hold that its client has not read. */
const MOST_UNREAD_BYTES = 256 << 10;

interface Stream {
  readonly exchange: Exchange;
  sentBytes: number;
}

type SendOptions = Parameters<StreamableHTTPServerTransport["send"]>[1];

export class BoundedTransport extends StreamableHTTPServerTransport {
  /** By the request that is answered there; null is the one for what belongs to none. */
  readonly #streams = new Map<RequestId | null, Stream>();

  /** `id`: of the request in `body`; null where it is none. */
  async answer(exchange: Exchange, id: RequestId | null, body: unknown): Promise<void> {
    const { request, response } = exchange;
    if (id !== null || request.method === "GET") {
      const stream = { exchange, sentBytes: 0 };
      this.#streams.set(id, stream);
      void exchange.over.then(() => {
        if (this.#streams.get(id) === stream) this.#streams.delete(id);
      });
    }
    await this.handleRequest(request, response, body);
  }

  override async send(message: JSONRPCMessage, options?: SendOptions): Promise<void> {
    const about = options?.relatedRequestId ?? null;
    const stream = this.#streams.get(about);
    const isNews = "method" in message && !("id" in message);
    if (stream !== undefined && isNews) {
      const bytes = Buffer.byteLength(JSON.stringify(message));
      if (unreadBytes(stream) + bytes > MOST_UNREAD_BYTES) return;
      stream.sentBytes += bytes;
    }
    await super.send(message, options);
  }
}

/** At most: what the protocol puts around messages counts as read. */
function unreadBytes({ exchange, sentBytes }: Stream): number {
  const { socket, bytesWrittenBefore } = exchange;
  return sentBytes - (socket.bytesWritten - socket.writableLength - bytesWrittenBefore);
}
