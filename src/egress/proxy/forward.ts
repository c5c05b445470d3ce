/** One plain request through the proxy, and its answer back: bodies stream both ways, hops keep what is theirs. */
import { Buffer } from "node:buffer";
import { type IncomingMessage, type ServerResponse, request as sendRequest } from "node:http";
import { pipeline } from "node:stream/promises";
import type { OutgoingRefusal } from "../../core/egress.js";
import { escapeText } from "../../core/escape.js";
import type { Authority, InvalidHost } from "../host.js";
import { isOpened, type Opened } from "../opener.js";
import { asRecord, endToEnd, fieldsOf, valuesOf } from "./headers.js";
import { hostField, pathOf, statusOf } from "./plain-target.js";

export async function forward(
  request: IncomingMessage,
  response: ServerResponse,
  opening: Promise<Opened | OutgoingRefusal> | InvalidHost,
  target: Authority | InvalidHost,
  idleMs: number,
): Promise<void> {
  if ("kind" in opening || "kind" in target) {
    const why = "kind" in opening ? opening.why : "it is refused";
    return answer(response, 400, why);
  }
  const opened = await opening;
  if (!isOpened(opened)) return answer(response, statusOf[opened.code], opened.message);
  opened.socket.setTimeout(idleMs, () => opened.socket.destroy(new Error("nothing moved for too long")));
  await exchange(request, response, opened, target);
}

function answer(response: ServerResponse, status: number, reason: string): void {
  // The body of a refused request is not waited for.
  response.writeHead(status, {
    "content-type": "text/plain; charset=utf-8",
    connection: "close",
  });
  response.end(`${escapeText(reason)}\n`);
}

async function exchange(
  request: IncomingMessage,
  response: ServerResponse,
  { socket, record, placeholders }: Opened,
  target: Authority,
): Promise<void> {
  const before = { sent: socket.bytesWritten, received: socket.bytesRead };
  record.note({ seen: { kind: "host", name: hostField(target) } });
  socket.once("close", () => {
    const bytes = { sent: socket.bytesWritten - before.sent, received: socket.bytesRead - before.received };
    record.end(bytes, null);
  });
  try {
    placeholders?.push(Buffer.from([request.url, ...request.rawHeaders].join("\n"), "latin1"));
    await relay(request, response, socket, target, placeholders);
  } catch (error) {
    if (response.headersSent || response.destroyed) response.destroy();
    else answer(response, 502, `the server did not answer: ${error instanceof Error ? error.message : String(error)}`);
  } finally {
    socket.destroy();
  }
}

function watched(placeholders: NonNullable<Opened["placeholders"]>) {
  return async function* (body: AsyncIterable<Buffer>) {
    for await (const chunk of body) {
      placeholders.push(chunk);
      yield chunk;
    }
  };
}

function relay(
  request: IncomingMessage,
  response: ServerResponse,
  socket: Opened["socket"],
  target: Authority,
  placeholders: Opened["placeholders"],
): Promise<void> {
  const fields = fieldsOf(request.rawHeaders);
  const headers = asRecord(endToEnd(fields));
  headers.host = [hostField(target)];
  if (valuesOf(fields, "transfer-encoding").length > 0) headers["transfer-encoding"] = ["chunked"];
  const outgoing = sendRequest({
    createConnection: () => socket,
    method: request.method ?? "GET",
    path: pathOf(request.url ?? ""),
    headers,
    setHost: false,
  });
  return new Promise((resolve, reject) => {
    outgoing.once("error", reject);
    response.once("close", () => {
      if (!response.writableFinished) outgoing.destroy(new Error("the client is gone"));
    });
    outgoing.on("continue", () => response.writeContinue());
    outgoing.once("response", (incoming) => {
      const kept = asRecord(endToEnd(fieldsOf(incoming.rawHeaders)));
      response.writeHead(incoming.statusCode ?? 502, incoming.statusMessage ?? "", kept);
      // Long answers begin before their first byte is there.
      response.flushHeaders();
      pipeline(incoming, response).then(resolve, reject);
    });
    // A server may answer and hang up before it has taken the whole body; its answer still counts.
    const sending =
      placeholders === null ? pipeline(request, outgoing) : pipeline(request, watched(placeholders), outgoing);
    sending.catch(() => {});
  });
}
