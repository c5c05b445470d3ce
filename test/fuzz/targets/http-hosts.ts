/**
 * What a client may send where one host is allowed, read by another parser: Node's own, as strict and as lenient as it
 * can be. No request that it sees may name another host.
 */
import { Buffer } from "node:buffer";
import { createServer, type IncomingMessage, type Server } from "node:http";
import { Duplex } from "node:stream";
import { parseAuthority } from "../../../src/egress/host.js";
import { isPeekRefusal } from "../../../src/egress/peek/inspector.js";
import { inspector } from "../../../src/egress/testing/peek.js";

const ALLOWED = "a.example";
/** Of the same policy: a proxy may be asked for it, by its address. */
const ALLOWED_TOO = "b.example";

interface Reader {
  readonly server: Server;
  seen: IncomingMessage[];
}

const readers = [false, true].map((isLenient): Reader => {
  const reader: Reader = {
    server: createServer({ insecureHTTPParser: isLenient, requireHostHeader: false }),
    seen: [],
  };
  reader.server.on("request", (request, response) => {
    reader.seen.push(request);
    request.resume();
    response.end();
  });
  for (const event of ["upgrade", "connect"] as const) {
    reader.server.on(event, (request: IncomingMessage, socket: Duplex) => {
      reader.seen.push(request);
      socket.destroy();
    });
  }
  reader.server.on("clientError", (_error, socket) => socket.destroy());
  return reader;
});

export async function run(data: Buffer): Promise<void> {
  const look = inspector(ALLOWED);
  const passed = look.push(data);
  look.release();
  if (isPeekRefusal(passed) || passed.length === 0) return;
  for (const reader of readers) {
    for (const request of await requestsIn(Buffer.concat(passed), reader)) checkHosts(request, data);
  }
}

async function requestsIn(bytes: Buffer, reader: Reader): Promise<readonly IncomingMessage[]> {
  reader.seen = [];
  const wire = new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() });
  wire.on("error", () => {});
  reader.server.emit("connection", wire);
  wire.push(bytes);
  wire.push(null);
  // What is pushed is read in this turn or the next.
  await new Promise((resolve) => setImmediate(resolve));
  wire.destroy();
  return reader.seen;
}

function checkHosts({ rawHeaders, method, url }: IncomingMessage, data: Buffer): void {
  for (let at = 0; at < rawHeaders.length; at += 2) {
    if (rawHeaders[at]?.toLowerCase() !== "host") continue;
    const value = rawHeaders[at + 1] ?? "";
    const authority = parseAuthority(value);
    const name = "kind" in authority || authority.host.kind !== "name" ? null : authority.host.name;
    const isProxied = method === "CONNECT" || url?.includes("://");
    const isAllowed = name === ALLOWED || (isProxied && name === ALLOWED_TOO);
    if (!isAllowed)
      throw new Error(`${method} for ${JSON.stringify(value)} passes: ${JSON.stringify(data.toString("latin1"))}`);
  }
}
