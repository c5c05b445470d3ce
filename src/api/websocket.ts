/** WebSockets, in a chunk of their own: only terminals need them. */
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";

export type { WebSocket };

const MAX_MESSAGE_BYTES = 1 << 20;

/** The connection speaks WebSocket when it resolves. Compression is left out: it would cost more than a terminal's text. */
export function acceptWebSocket(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<WebSocket> {
  const server = new WebSocketServer({ noServer: true, maxPayload: MAX_MESSAGE_BYTES, perMessageDeflate: false });
  return new Promise((resolve, reject) => {
    socket.once("close", () => reject(new Error("the caller was gone before the answer")));
    server.handleUpgrade(request, socket, head, resolve);
  });
}
