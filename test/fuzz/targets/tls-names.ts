/**
 * What a client may send where one host is allowed, read by OpenSSL, as most servers do. No ClientHello that it takes may
 * name another server.
 */
import { Buffer } from "node:buffer";
import { Duplex } from "node:stream";
import { createServer } from "node:tls";
import { parseHost } from "../../../src/egress/host.js";
import { isPeekRefusal } from "../../../src/egress/peek/inspector.js";
import { inspector } from "../../../src/egress/testing/peek.js";

const ALLOWED = "a.example";

let seen: string[] = [];
const server = createServer({
  minVersion: "TLSv1",
  ciphers: "ALL:@SECLEVEL=0",
  SNICallback: (name, done) => {
    seen.push(name);
    // The name is all that is wanted.
    done(new Error("enough"));
  },
});
server.on("tlsClientError", (_error, socket) => socket.destroy());

export async function run(data: Buffer): Promise<void> {
  const look = inspector(ALLOWED);
  const passed = look.push(data);
  look.release();
  if (isPeekRefusal(passed) || passed.length === 0) return;
  for (const name of await namesIn(Buffer.concat(passed))) {
    const host = parseHost(name);
    if (host.kind !== "name" || host.name !== ALLOWED) throw new Error(`${JSON.stringify(name)} passes`);
  }
}

async function namesIn(bytes: Buffer): Promise<readonly string[]> {
  seen = [];
  const wire = new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() });
  wire.on("error", () => {});
  server.emit("connection", wire);
  wire.push(bytes);
  wire.push(null);
  // What is pushed is read in this turn, and decrypted in the next ones.
  for (let turns = 0; turns < 3; turns++) await new Promise((resolve) => setImmediate(resolve));
  wire.destroy();
  return seen;
}
