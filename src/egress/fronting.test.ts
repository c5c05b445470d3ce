/** N6 through the whole gateway: what a client is told, what reaches the server, what the log says. */
import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Certificate, makeCertificate, tlsServer } from "./testing/tls.js";
import { allowlist, PUBLIC, readAll, readUntilText, World } from "./testing/world.js";

let certificate: Certificate;
let world: World;
let received: string[];
beforeAll(() => {
  certificate = makeCertificate("a.example", "b.example");
});
beforeEach(async () => {
  world = new World();
  received = [];
  world.names.set("a.example", [PUBLIC]).set("b.example", [PUBLIC]);
  await world.adopt(
    PUBLIC,
    443,
    tlsServer(certificate, (socket) => {
      received.push(String(socket.servername));
      socket.end("hello over TLS");
    }),
  );
  await world.adopt(
    PUBLIC,
    80,
    createHttpServer((request, response) => {
      received.push(`${request.headers.host} ${request.url}`);
      response.end("answer");
    }),
  );
});
afterEach(() => world.end());

const both = () => world.gateway(allowlist({ domain: "a.example" }, { domain: "b.example" }));
const httpTo = (name: string) => ({ kind: "name", name, port: 80 }) as const;

async function tlsTo(gateway: ReturnType<World["gateway"]>, name: string, servername: string): Promise<TLSSocket> {
  const socket = await world.client(gateway, { kind: "name", name, port: 443 });
  return connectTls({ socket, servername, ca: certificate.cert });
}

describe("TLS", () => {
  it("to the allowed name works, and its name is in the log", async () => {
    const tls = await tlsTo(both(), "a.example", "a.example");
    expect(await readAll(tls)).toBe("hello over TLS");
    tls.end();
    expect(await world.decision((one) => one.phase === "ended")).toMatchObject({
      verdict: "allowed",
      seen: { kind: "sni", name: "a.example" },
    });
  });

  it("with another name is ended by an alert that says so, and the server sees nothing", async () => {
    const tls = await tlsTo(both(), "a.example", "b.example");
    const [error] = await once(tls, "error").then(
      ([failure]) => [failure],
      (failure) => [failure],
    );
    expect(String(error.message)).toMatch(/alert access denied/i);
    expect(await world.decision((one) => one.phase === "ended")).toMatchObject({
      verdict: "denied",
      rule: "SNI says b.example, allowed was a.example",
      bytes: { sent: 0, received: 0 },
    });
    expect(received).toEqual([]);
  });

  it("to a raw address with egress on works, unless it names a denied domain", async () => {
    const gateway = world.gateway({ egress: "on", allow: [], deny: [{ domain: "b.example" }] });
    const open = async (servername: string) => {
      const socket = await world.client(gateway, { kind: "address", address: PUBLIC, port: 443 });
      return connectTls({ socket, servername, ca: certificate.cert });
    };
    expect(await readAll(await open("a.example"))).toBe("hello over TLS");
    const denied = await open("b.example");
    await expect(once(denied, "secureConnect")).rejects.toThrow(/access denied/i);
    expect(received).toEqual(["a.example"]);
  });
});

describe("HTTP", () => {
  it("to the allowed name works, request after request", async () => {
    const client = await world.client(both(), httpTo("a.example"));
    client.write("GET /1 HTTP/1.1\r\nHost: a.example\r\n\r\n");
    await readUntilText(client, "answer");
    client.write("GET /2 HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n");
    await readAll(client);
    expect(received).toEqual(["a.example /1", "a.example /2"]);
  });

  it("for another Host is answered with 403 and a reason, and the server sees nothing", async () => {
    const client = await world.client(both(), httpTo("a.example"));
    client.write("GET / HTTP/1.1\r\nHost: b.example\r\n\r\n");
    const answer = await readAll(client);
    expect(answer).toMatch(/^HTTP\/1\.1 403 Forbidden\r\n/);
    expect(answer).toMatch(/blocked by the sandbox's network policy: Host says b\.example, allowed was a\.example\n$/);
    expect(received).toEqual([]);
  });

  it("for another Host in a second request is refused after the first was answered", async () => {
    const client = await world.client(both(), httpTo("a.example"));
    client.write("GET /1 HTTP/1.1\r\nHost: a.example\r\n\r\n");
    await readUntilText(client, "answer");
    client.write("GET /2 HTTP/1.1\r\nHost: b.example\r\n\r\n");
    expect(await readAll(client)).toMatch(/^HTTP\/1\.1 403 /);
    expect(received).toEqual(["a.example /1"]);
  });

  it("pipelined to a second Host brings nothing of the second to the server", async () => {
    const client = await world.client(both(), httpTo("a.example"));
    client.write("GET /1 HTTP/1.1\r\nHost: a.example\r\n\r\nGET /2 HTTP/1.1\r\nHost: b.example\r\n\r\n");
    await readAll(client);
    await world.decision((one) => one.verdict === "denied");
    expect(received).not.toContain("b.example /2");
  });

  it("that dribbles in is given up in time, bytes or not", async () => {
    const gateway = world.gateway(allowlist({ domain: "a.example" }), { limits: { handshakeMs: 40 } });
    const client = await world.client(gateway, httpTo("a.example"));
    const drip = setInterval(() => client.write("x"), 5);
    client.write("GET / HTTP/1.1\r\nX: ");
    try {
      expect(await readAll(client)).toMatch(/took too long/);
    } finally {
      clearInterval(drip);
    }
  });

  it("a WebSocket upgrade works", async () => {
    world.names.set("ws.example", ["93.184.216.40"]);
    await world.serve("93.184.216.40", 80, (socket) => {
      socket.once("data", () => {
        socket.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n");
        socket.pipe(socket);
      });
    });
    const client = await world.client(world.gateway(allowlist({ domain: "ws.example" })), httpTo("ws.example"));
    client.write("GET / HTTP/1.1\r\nHost: ws.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
    await readUntilText(client, "\r\n\r\n");
    client.write("GET / HTTP/1.1\r\nHost: other\r\n\r\n frames, whatever they look like");
    await readUntilText(client, "frames, whatever they look like");
  });
});
