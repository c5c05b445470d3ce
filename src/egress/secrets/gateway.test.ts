/** Secrets through the whole gateway, with real TLS on both sides: what reaches the server, what the log says. */
import { Buffer } from "node:buffer";
import { once } from "node:events";
import { connect as connectTls } from "node:tls";
import { inspect } from "node:util";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { HOST, OTHER, request, SecretWorld, VALUE } from "../testing/secret-world.js";
import { type Certificate, clientHello, makeCertificate } from "../testing/tls.js";
import { allowlist, PUBLIC, readAll, readUntilText } from "../testing/world.js";
import { upstreamFromEnvironment } from "../upstream/settings.js";

let certificate: Certificate;
let world: SecretWorld;
let key: string;
beforeAll(() => {
  certificate = makeCertificate(HOST, OTHER);
});
beforeEach(async () => {
  world = new SecretWorld(certificate, { name: "SECOND", host: HOST, header: "x-second", value: "second-value" });
  key = world.placeholder();
  await world.serveHttp();
});
afterEach(() => world.end());

describe("a secret in its header, for its host", () => {
  it("is put in for the placeholder, and the log tells its name alone", async () => {
    const answer = await world.talk(world.secretGateway(), request(`Authorization: Bearer ${key}`));
    expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n[\s\S]*answer$/);
    expect(world.received).toMatchObject([{ url: "/path", headers: { authorization: `Bearer ${VALUE}` } }]);
    expect(await world.ended()).toMatchObject({
      verdict: "allowed",
      seen: { kind: "sni", name: HOST },
      secrets: [{ name: "API_KEY", use: "replaced", where: "header authorization" }],
    });
    expect(JSON.stringify(world.decisions)).not.toContain(VALUE);
  });

  it("is put in anywhere in the value, whatever the header's case, several of them each in its own", async () => {
    const second = world.placeholder("SECOND");
    await world.talk(world.secretGateway(), request(`AUTHORIZATION:token=${key}; x=${key}`, `x-Second: ${second}`));
    expect(world.received[0]?.headers).toMatchObject({
      authorization: `token=${VALUE}; x=${VALUE}`,
      "x-second": "second-value",
    });
  });

  it("is put into Basic credentials, which are coded anew", async () => {
    const basic = (password: string) => `Basic ${Buffer.from(`user:${password}`).toString("base64")}`;
    await world.talk(world.secretGateway(), request(`Authorization: ${basic(key)}`));
    expect(world.received[0]?.headers.authorization).toBe(basic(VALUE));
  });

  it("is put into each request of a connection, one after the other and sent ahead", async () => {
    const gateway = world.secretGateway();
    const client = await world.tls(gateway);
    const one = (path: string, last: boolean) =>
      `GET ${path} HTTP/1.1\r\nHost: ${HOST}\r\nAuthorization: ${key}\r\n${last ? "Connection: close\r\n" : ""}\r\n`;
    client.write(one("/1", false));
    await readUntilText(client, "answer");
    client.write(one("/2", false) + one("/3", true));
    await readAll(client);
    expect(world.received.map(({ url, headers }) => [url, headers.authorization])).toEqual([
      ["/1", VALUE],
      ["/2", VALUE],
      ["/3", VALUE],
    ]);
    client.end();
    await world.ended();
    expect(gateway.connections).toBe(0);
  });

  it("is put in on the way through a proxy of the user's own, which does not see it", async () => {
    const seen: Buffer[] = [];
    await world.serve("10.9.9.9", 3128, (socket) => {
      socket.once("data", async () => {
        const real = await world.dial({ address: PUBLIC, family: 4, port: 443, signal: new AbortController().signal });
        socket.write("HTTP/1.1 200 OK\r\n\r\n");
        socket.on("data", (chunk: Buffer) => seen.push(chunk));
        socket.pipe(real).pipe(socket);
      });
    });
    const upstream = upstreamFromEnvironment({ HTTPS_PROXY: "http://10.9.9.9:3128" });
    await world.talk(world.secretGateway({ upstream }), request(`Authorization: ${key}`));
    expect(world.received[0]?.headers.authorization).toBe(VALUE);
    expect(Buffer.concat(seen).includes(VALUE)).toBe(false);
  });

  it("is put in where the client's TLS follows its CONNECT at once", async () => {
    const proxy = await world.client(world.secretGateway(), { kind: "proxy" });
    const hello = await clientHello({ servername: HOST });
    proxy.write(Buffer.concat([Buffer.from(`CONNECT ${HOST}:443 HTTP/1.1\r\n\r\n`), hello]));
    // The server's part of the handshake begins with a record of its own hello.
    expect(await readUntilText(proxy, "\r\n\r\n\x16\x03\x03")).toMatch(/^HTTP\/1\.1 200 /);
  });

  it("a bound host is reached without a placeholder too", async () => {
    await world.talk(world.secretGateway(), request("Authorization: Bearer of-my-own"));
    expect(world.received[0]?.headers.authorization).toBe("Bearer of-my-own");
    expect((await world.ended()).secrets).toEqual([]);
  });
});

describe("the placeholder stays one", () => {
  const left = (where: string) => ({ secrets: [{ name: "API_KEY", use: "left", where }] });

  it("in another header, even of another secret", async () => {
    await world.talk(world.secretGateway(), request(`X-Second: ${key}`, `X-Third: ${key}`));
    expect(world.received[0]?.headers).toMatchObject({ "x-second": key, "x-third": key });
    expect((await world.ended()).secrets).toEqual([
      { name: "API_KEY", use: "left", where: "header x-second" },
      { name: "API_KEY", use: "left", where: "header x-third" },
    ]);
  });

  it("in the address", async () => {
    await world.talk(world.secretGateway(), request().replace("/path", `/path?key=${key}`));
    expect(world.received[0]?.url).toBe(`/path?key=${key}`);
    expect(await world.ended()).toMatchObject(left("the address"));
  });

  it.each([
    ["a body of known length", (body: string) => [`Content-Length: ${body.length}`, body]],
    [
      "a chunked body",
      (body: string) => ["Transfer-Encoding: chunked", `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`],
    ],
  ])("in %s", async (_, frame) => {
    const [line = "", bytes = ""] = frame(`Authorization: ${key}\r\n\r\n`);
    const head = request(line).replace("GET", "POST");
    await world.talk(world.secretGateway(), head + bytes);
    expect(world.received[0]?.body).toBe(`Authorization: ${key}\r\n\r\n`);
    expect(await world.ended()).toMatchObject(left("the body"));
  });

  it("in the trailer of a chunked body", async () => {
    const trailer = `0\r\nAuthorization: ${key}\r\n\r\n`;
    await world.talk(world.secretGateway(), request("Transfer-Encoding: chunked").replace("GET", "POST") + trailer);
    expect(world.received[0]?.headers.authorization).toBeUndefined();
    expect(await world.ended()).toMatchObject(left("the body"));
  });

  it("at another host, whose TLS is the server's own", async () => {
    const client = await world.tls(world.secretGateway(), { ca: certificate.cert }, OTHER);
    client.write(request(`Authorization: ${key}`).replace(HOST, OTHER));
    await readAll(client);
    client.end();
    expect(world.received[0]?.headers.authorization).toBe(key);
  });

  it("over plain HTTP, and the log says that it was left", async () => {
    const client = await world.client(world.secretGateway(), { kind: "name", name: HOST, port: 80 });
    client.end(request(`Authorization: ${key}`));
    await readAll(client);
    expect(world.received[0]?.headers.authorization).toBe(key);
    expect(await world.ended()).toMatchObject(left("a connection on which no secret is replaced"));
  });

  it("in a plain request through the proxy, in its head or its body", async () => {
    const proxy = await world.client(world.secretGateway(), { kind: "proxy" });
    const head = request(`Content-Length: ${key.length}`).replace("GET /", `POST http://${HOST}/`);
    proxy.end(head + key);
    await readAll(proxy);
    expect(world.received[0]?.body).toBe(key);
    expect(await world.ended()).toMatchObject(left("a connection on which no secret is replaced"));
  });

  it("where the client reaches the host by its address", async () => {
    const gateway = world.secretGateway({ policy: () => ({ egress: "on", allow: [], deny: [] }) });
    const socket = await world.client(gateway, { kind: "address", address: PUBLIC, port: 443 });
    const client = connectTls({ socket, servername: HOST, ca: certificate.cert });
    client.write(request(`Authorization: ${key}`));
    await readAll(client);
    client.end();
    expect(world.received[0]?.headers.authorization).toBe(key);
  });
});

describe("refused, and nothing reaches the server", () => {
  const denied = async (text: string, reason: RegExp) => {
    expect(await world.talk(world.secretGateway(), text)).toMatch(reason);
    expect(await world.ended()).toMatchObject({ verdict: "denied", rule: expect.stringMatching(reason) });
    expect(world.received).toEqual([]);
  };
  const bearer = () => `Authorization: Bearer ${key}`;

  it.each(["TRACE", "trace", "TRACK"])("%s, which would echo the secret", (method) =>
    denied(request(bearer()).replace("GET", method), /TRAC[EK], which would echo the secret/),
  );

  it.each([
    ["another Host", (text: string) => text.replace(`Host: ${HOST}`, `Host: ${OTHER}`), /Host differs from api/],
    ["a Host below", (text: string) => text.replace(`Host: ${HOST}`, `Host: x.${HOST}`), /Host differs/],
    ["another port in Host", (text: string) => text.replace(`Host: ${HOST}`, `Host: ${HOST}:8443`), /Host differs/],
    ["no Host", (text: string) => text.replace(`Host: ${HOST}\r\n`, ""), /without a Host/],
    ["two Hosts", (text: string) => text.replace("Connection: close", `Host: ${OTHER}`), /more than one Host/],
    ["an absolute address", (text: string) => text.replace("/path", `https://${OTHER}/`), /not a path/],
    ["CONNECT", (text: string) => text.replace("GET /path", `CONNECT ${OTHER}:443`), /CONNECT/],
    ["a bare LF", (text: string) => text.replace("Connection: close", "X: a\nY: b"), /CR LF/],
    ["a folded line", (text: string) => text.replace("Connection: close", "X: a\r\n b"), /malformed header/],
    [
      "both lengths",
      (text: string) => text.replace("close", "close\r\nContent-Length: 5\r\nTransfer-Encoding: chunked"),
      /both/,
    ],
    ["a change to another protocol", (text: string) => text.replace("close", "Upgrade\r\nUpgrade: h2c"), /WebSocket/],
  ])("a request with %s", (_, change, reason) => denied(change(request(bearer())), reason));

  it("a second request of the connection for another Host", async () => {
    const client = await world.tls(world.secretGateway());
    client.write(request(bearer()).replace("Connection: close", "X: y"));
    await readUntilText(client, "answer");
    client.write(request(bearer()).replace(`Host: ${HOST}`, `Host: ${OTHER}`));
    expect(await readAll(client)).toMatch(/^HTTP\/1\.1 403 [\s\S]*Host differs/);
    expect(world.received).toHaveLength(1);
  });

  it.each(["5;x\r\n12345\r\n0\r\n\r\n", "5\n12345\r\n0\r\n\r\n", "5\r\n12345\n0\r\n\r\n"])(
    "chunks that servers read differently: %j",
    async (chunks) => {
      await world.talk(world.secretGateway(), request("Transfer-Encoding: chunked").replace("GET", "POST") + chunks);
      expect(await world.ended()).toMatchObject({ verdict: "denied" });
      expect(world.received).toEqual([]);
    },
  );

  it.each([
    ["another SNI", OTHER, /SNI says other\.example\.com, allowed was api/],
    ["no SNI", "", /without a server name/],
  ])("TLS with %s", async (_, servername, reason) => {
    const client = await world.tls(world.secretGateway(), { servername, checkServerIdentity: () => undefined });
    client.write(request(bearer()));
    expect(await readAll(client)).toMatch(/^HTTP\/1\.1 403 /);
    expect(await world.ended()).toMatchObject({ verdict: "denied", rule: expect.stringMatching(reason) });
    expect(world.received).toEqual([]);
  });

  it("a client that does not know the sandbox's authority", async () => {
    const client = await world.tls(world.secretGateway(), { ca: certificate.cert });
    await expect(once(client, "secureConnect")).rejects.toThrow(/unable to verify/);
    await world.ended();
    expect(world.received).toEqual([]);
  });

  it("a client that takes HTTP/2 alone", async () => {
    const client = await world.tls(world.secretGateway(), { ALPNProtocols: ["h2"] });
    await expect(once(client, "secureConnect")).rejects.toThrow(/no.application.protocol/i);
  });

  it("a host that the policy does not allow: a secret opens nothing", async () => {
    const gateway = world.gateway(allowlist({ domain: OTHER }), { secrets: world.secrets });
    expect(await world.refusal(gateway, { kind: "name", name: HOST, port: 443 })).toMatchObject({ code: "denied" });
  });
});

describe("A6 whatever is written down", () => {
  it("has no value in it: decisions, refusals, and what the client gets, of all that went right and wrong", async () => {
    const gateway = world.secretGateway();
    const right = request(`Authorization: Bearer ${key}`);
    const answers = [await world.talk(gateway, right)];
    for (const wrong of [right.replace("GET", "TRACE"), right.replace(HOST, OTHER), right.replace("\r\n", "\n")]) {
      answers.push(await world.talk(gateway, wrong));
    }
    await world.decision((one) => one.phase === "ended" && one.connection === answers.length);
    const basic = Buffer.from(`:${VALUE}`).toString("base64").slice(2, -3);
    for (const text of [
      ...answers,
      JSON.stringify(world.decisions),
      inspect(gateway, { depth: 9, showHidden: true }),
    ]) {
      expect(text).not.toContain(VALUE);
      expect(text).not.toContain(basic);
    }
    expect(world.decisions.length).toBeGreaterThanOrEqual(8);
  });
});

describe("what is no TLS on a bound host", () => {
  it("passes as anywhere: a server that speaks first, and a client that says something else", async () => {
    await world.serve(PUBLIC, 22, (socket) => {
      socket.write("SSH-2.0-server\r\n");
      socket.pipe(socket);
    });
    const client = await world.client(world.secretGateway(), { kind: "name", name: HOST, port: 22 });
    await readUntilText(client, "SSH-2.0-server\r\n");
    client.end("SSH-2.0-client\r\n");
    expect(await readAll(client)).toBe("SSH-2.0-client\r\n");
    await world.ended();
  });

  it("is given up when a client says nothing for too long", async () => {
    await world.serve(PUBLIC, 23, () => {});
    const gateway = world.secretGateway({ limits: { idleMs: 50 } });
    const client = await world.client(gateway, { kind: "name", name: HOST, port: 23 });
    expect(await readAll(client)).toBe("");
    client.end();
    await world.ended();
  });
});

describe("the server must prove to be the host", () => {
  it.each([
    [
      "is made out to another name",
      () => makeCertificate(OTHER),
      (own: Certificate) => [String(own.cert)],
      /does not match/,
    ],
    ["comes from nobody we know", () => makeCertificate(HOST), () => [String(certificate.cert)], /self-signed/],
  ])("a certificate that %s ends it, and the client is told why", async (_, make, roots, reason) => {
    const wrong = new SecretWorld(make());
    try {
      await wrong.serveHttp();
      const secrets = { ...wrong.secrets, roots: roots(wrong.certificate) };
      const answer = await wrong.talk(
        wrong.secretGateway({ secrets }),
        request(`Authorization: ${wrong.placeholder()}`),
      );
      expect(answer).toMatch(/^HTTP\/1\.1 502 [\s\S]*no secret is sent: api\.example\.com could not be verified: /);
      expect(answer).toMatch(reason);
      expect(await wrong.ended()).toMatchObject({ verdict: "denied", rule: expect.stringMatching(reason) });
      expect(wrong.received).toEqual([]);
    } finally {
      await wrong.end();
    }
  });

  it("a server that never answers the handshake is given up in time", async () => {
    const silent = new SecretWorld(certificate);
    try {
      await silent.serve(PUBLIC, 443, () => {});
      expect(await silent.talk(silent.secretGateway({ limits: { handshakeMs: 100 } }), request())).toMatch(
        /took too long/,
      );
    } finally {
      await silent.end();
    }
  });
});
