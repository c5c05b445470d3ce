import { Buffer } from "node:buffer";
import { once } from "node:events";
import { Agent, createServer as createHttpServer, type IncomingMessage, request } from "node:http";
import type { Socket } from "node:net";
import { text } from "node:stream/consumers";
import { connect as connectTls } from "node:tls";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Gateway } from "../gateway.js";
import { type Certificate, makeCertificate, tlsServer } from "../testing/tls.js";
import { allowlist, everything, PUBLIC, readAll, readUntilText, World } from "../testing/world.js";

let certificate: Certificate;
let world: World;
let requests: { line: string; headers: IncomingMessage["headers"]; body: string }[];
beforeAll(() => {
  certificate = makeCertificate("a.example");
});
beforeEach(async () => {
  world = new World();
  requests = [];
  world.names.set("a.example", [PUBLIC]).set("b.example", [PUBLIC]);
  await world.adopt(
    PUBLIC,
    443,
    tlsServer(certificate, (socket) => socket.end("hello over TLS")),
  );
  const server = createHttpServer(async (incoming, response) => {
    const body = await text(incoming);
    requests.push({ line: `${incoming.method} ${incoming.url}`, headers: incoming.headers, body });
    response.setHeader("Connection", "X-Hop, keep-alive").setHeader("X-Hop", "1").setHeader("X-End", "2");
    response.write(`got ${body}`);
    response.end("; done");
  });
  await world.adopt(PUBLIC, 80, server);
});
afterEach(() => world.end());

const proxied = (gateway: Gateway): Promise<Socket> => world.client(gateway, { kind: "proxy" });
const list = () => world.gateway(allowlist({ domain: "a.example" }));

describe("CONNECT", () => {
  it("opens a tunnel through which TLS works, also when the hello comes along", async () => {
    const socket = await proxied(list());
    socket.write("CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n\r\n");
    expect(String((await once(socket, "data"))[0])).toBe("HTTP/1.1 200 Connection Established\r\n\r\n");
    const tls = connectTls({ socket, servername: "a.example", ca: certificate.cert });
    expect(await readAll(tls)).toBe("hello over TLS");
    expect(world.decisions[0]).toMatchObject({ via: "proxy", host: "a.example", port: 443, verdict: "allowed" });
  });

  it("holds what is inside the tunnel to the name", async () => {
    const socket = await proxied(list());
    socket.write("CONNECT a.example:443 HTTP/1.1\r\n\r\n");
    await once(socket, "data");
    const tls = connectTls({ socket, servername: "b.example", ca: certificate.cert });
    await expect(once(tls, "secureConnect")).rejects.toThrow(/access denied/i);
  });

  it.each([
    ["b.example:443", 403],
    [`${PUBLIC}:443`, 403],
    ["10.0.0.1:443", 403],
    ["[::1]:443", 403],
    ["localhost:443", 403],
    ["a.example:0443", 400],
    ["a.example:+443", 400],
    ["a.example", 400],
    ["user@a.example:443", 400],
    ["a.example%00.b.example:443", 400],
    [":443", 400],
    ["a.example:1", 502],
  ])("to %s is answered with %i", async (target, status) => {
    const socket = await proxied(list());
    socket.write(`CONNECT ${target} HTTP/1.1\r\nHost: a.example:443\r\n\r\n`);
    expect(await readAll(socket)).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(world.resolved).toEqual(status === 502 ? ["a.example"] : []);
  });
});

describe("plain requests", () => {
  it("travel on without what belongs to the hop, and so do their answers", async () => {
    const socket = await proxied(list());
    socket.write(
      [
        "POST http://a.example/x?y HTTP/1.1",
        "Host: a.example",
        "Proxy-Connection: keep-alive",
        "Proxy-Authorization: Basic c2VjcmV0",
        "Connection: close, X-Mine",
        "X-Mine: 1",
        "X-Yours: 2",
        "TE: trailers",
        "Content-Length: 5",
        "",
        "hello",
      ].join("\r\n"),
    );
    const answer = await readAll(socket);
    const [sent] = requests;
    expect(sent?.line).toBe("POST /x?y");
    expect(sent?.body).toBe("hello");
    expect(Object.keys(sent?.headers ?? {}).sort()).toEqual(["connection", "content-length", "host", "x-yours"]);
    expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(answer).toMatch(/x-end: 2/i);
    expect(answer).not.toMatch(/x-hop/i);
    expect(await world.decision((one) => one.phase === "ended")).toMatchObject({
      seen: { kind: "host", name: "a.example" },
    });
  });

  it("one after another on one connection, chunked ones too, each judged by itself", async () => {
    const socket = await proxied(world.gateway(allowlist({ domain: "a.example" }, { domain: "b.example" })));
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    Object.assign(agent, { createConnection: () => socket });
    const send = async (name: string, body: string) => {
      const outgoing = request({ agent, method: "PUT", path: `http://${name}/`, headers: { host: name } });
      outgoing.write(body);
      outgoing.end("!");
      const [answer] = (await once(outgoing, "response")) as [IncomingMessage];
      return `${answer.statusCode} ${await text(answer)}`;
    };
    expect(await send("a.example", "1")).toBe("200 got 1!; done");
    expect(await send("b.example", "2")).toBe("200 got 2!; done");
    expect(await send("c.example", "3")).toMatch(/^403 c\.example:80 is not allowed: no rule allows it/);
    expect(requests.map((one) => one.headers["transfer-encoding"])).toEqual(["chunked", "chunked"]);
  });

  it("with a large body stream both ways", async () => {
    await world.serve("93.184.216.40", 80, (socket) => {
      let seen = 0;
      socket.on("data", (chunk) => {
        seen += chunk.length;
        if (seen < 8_000_000) return;
        socket.end(`HTTP/1.1 200 OK\r\nContent-Length: 8000000\r\n\r\n${"y".repeat(8_000_000)}`);
      });
    });
    const socket = await proxied(world.gateway(everything));
    socket.write("POST http://93.184.216.40/ HTTP/1.1\r\nConnection: close\r\nContent-Length: 8000000\r\n\r\n");
    socket.write(Buffer.alloc(8_000_000, "x"));
    expect((await readAll(socket)).split("\r\n\r\n")[1]?.length).toBe(8_000_000);
  });

  it.each([
    ["with another Host", "GET http://a.example/ HTTP/1.1\r\nHost: b.example\r\n\r\n", 400],
    ["with two Hosts", "GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\nHost: b.example\r\n\r\n", 400],
    ["with a user name", "GET http://x@a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n", 400],
    ["that is no proxy request", "GET / HTTP/1.1\r\nHost: a.example\r\n\r\n", 400],
    ["for https", "GET https://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n", 400],
    ["that is not allowed", "GET http://b.example/ HTTP/1.1\r\nHost: b.example\r\n\r\n", 403],
    ["to metadata", "GET http://169.254.169.254/latest HTTP/1.1\r\nHost: 169.254.169.254\r\n\r\n", 403],
    ["to loopback in hexadecimal", "GET http://0x7f000001/ HTTP/1.1\r\nHost: 0x7f000001\r\n\r\n", 403],
    [
      "with both lengths",
      "POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      400,
    ],
    ["that is no HTTP", "hello\r\n\r\n", 400],
    ["with a huge head", `GET http://a.example/ HTTP/1.1\r\nX: ${"x".repeat(100_000)}\r\n\r\n`, 400],
  ])("%s are refused", async (_what, bytes, status) => {
    const socket = await proxied(list());
    socket.write(bytes);
    expect(await readAll(socket)).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(requests).toEqual([]);
  });

  it("whose server goes away in the middle end in the middle", async () => {
    await world.serve("93.184.216.41", 80, (socket) => {
      socket.once("data", () =>
        socket.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf", () => socket.resetAndDestroy()),
      );
    });
    const socket = await proxied(world.gateway(everything));
    socket.write("GET http://93.184.216.41/ HTTP/1.1\r\nHost: 93.184.216.41\r\n\r\n");
    expect(await readAll(socket)).toMatch(/half$/);
  });

  it("of a client that ends its side are still answered", async () => {
    const socket = await proxied(list());
    socket.end("GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n");
    expect(await readAll(socket)).toMatch(/^HTTP\/1\.1 200 OK/);
  });

  it("a WebSocket upgrade works, and what it was upgraded from is the named host", async () => {
    world.names.set("ws.example", ["93.184.216.42"]);
    let head = "";
    await world.serve("93.184.216.42", 80, (socket) => {
      socket.once("data", (chunk) => {
        head = String(chunk);
        socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
        socket.pipe(socket);
      });
    });
    const socket = await proxied(world.gateway(allowlist({ domain: "ws.example" })));
    socket.write(
      "GET http://ws.example/chat HTTP/1.1\r\nHost: ws.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
    );
    await readUntilText(socket, "101 Switching");
    socket.write("frame");
    await readUntilText(socket, "frame");
    expect(head).toMatch(/^GET \/chat HTTP\/1\.1\r\nHost: ws\.example\r\n/);
  });

  it("a client that says nothing, or dribbles, is let go in time", async () => {
    const gateway = world.gateway(everything, { limits: { handshakeMs: 30 } });
    const silent = await proxied(gateway);
    const slow = await proxied(gateway);
    slow.write("GET http://a.exam");
    await Promise.all([readAll(silent), readAll(slow)]);
    silent.destroy();
    slow.destroy();
  });
});

describe("SOCKS 5", () => {
  const greeting = Buffer.from([5, 1, 0]);
  const asked = (type: number, address: Buffer, port: number, command = 1) =>
    Buffer.concat([Buffer.from([5, command, 0, type]), address, Buffer.from([port >> 8, port & 255])]);
  const name = (value: string) => Buffer.concat([Buffer.from([Buffer.byteLength(value)]), Buffer.from(value)]);

  async function talk(gateway: Gateway, message: Buffer, pieces = 1000): Promise<{ socket: Socket; reply: number }> {
    const socket = await proxied(gateway);
    const all = Buffer.concat([greeting, message]);
    for (let at = 0; at < all.length; at += pieces) socket.write(all.subarray(at, at + pieces));
    const answer: Buffer = await new Promise((resolve) => {
      let got = Buffer.alloc(0);
      socket.on("data", function read(chunk: Buffer) {
        got = Buffer.concat([got, chunk]);
        if (got.length < 12) return;
        socket.off("data", read);
        resolve(got);
      });
    });
    expect([...answer.subarray(0, 3)]).toEqual([5, 0, 5]);
    return { socket, reply: answer[3] ?? -1 };
  }

  it.each([1, 1000])("connects by name, in pieces of %i", async (pieces) => {
    const { socket, reply } = await talk(list(), asked(3, name("A.example"), 443), pieces);
    expect(reply).toBe(0);
    const tls = connectTls({ socket, servername: "a.example", ca: certificate.cert });
    expect(await readAll(tls)).toBe("hello over TLS");
  });

  it.each([
    ["a name that is not allowed", asked(3, name("b.example"), 443), 2],
    ["a name with a NUL", asked(3, name("a.example\0.b.example"), 443), 2],
    ["an empty name", asked(3, name(""), 443), 2],
    ["loopback", asked(1, Buffer.from([127, 0, 0, 1]), 80), 2],
    ["mapped loopback", asked(4, Buffer.from("00000000000000000000ffff7f000001", "hex"), 80), 2],
    ["a name in the shape of an address", asked(3, name("0x7f.1"), 80), 2],
    ["port 0", asked(3, name("a.example"), 0), 2],
    ["a port where nobody is", asked(3, name("a.example"), 9), 5],
    ["BIND", asked(3, name("a.example"), 443, 2), 7],
    ["UDP", asked(3, name("a.example"), 443, 3), 7],
  ])("%s is refused", async (_what, message, reply) => {
    expect((await talk(list(), message)).reply).toBe(reply);
  });

  it("connects by address where a rule allows it", async () => {
    const gateway = world.gateway(allowlist({ cidr: `${PUBLIC}/32` }));
    expect((await talk(gateway, asked(1, Buffer.from([93, 184, 216, 34]), 80))).reply).toBe(0);
  });

  it("a client that only knows logins is told no", async () => {
    const socket = await proxied(list());
    socket.write(Buffer.from([5, 1, 2]));
    expect(await readAll(socket)).toBe("\x05\xff");
  });
});

describe("N7 a proxy inside the allowlist", () => {
  it("is reached, and leads on only to what is allowed too", async () => {
    world.names.set("proxy.example", ["93.184.216.43"]);
    const lines: string[] = [];
    await world.serve("93.184.216.43", 3128, (socket) => {
      socket.once("data", (chunk) => {
        lines.push(String(chunk).split("\r\n")[0] ?? "");
        socket.write("HTTP/1.1 200 OK\r\n\r\n");
      });
    });
    const gateway = world.gateway(allowlist({ domain: "proxy.example" }, { domain: "a.example" }));
    const open = async (inner: string) => {
      const socket = await world.client(gateway, { kind: "name", name: "proxy.example", port: 3128 });
      socket.write(`CONNECT ${inner}:443 HTTP/1.1\r\nHost: ${inner}:443\r\n\r\n`);
      return String((await once(socket, "data"))[0]).slice(0, 12);
    };
    expect(await open("a.example")).toBe("HTTP/1.1 200");
    expect(await open("evil.example")).toBe("HTTP/1.1 403");
    expect(await open("169.254.169.254")).toBe("HTTP/1.1 403");
    expect(lines).toEqual(["CONNECT a.example:443 HTTP/1.1"]);
  });
});
