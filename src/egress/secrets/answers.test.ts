/** What comes back: bulk data unharmed and held back rightly, and no echo of a secret. */
import { Buffer } from "node:buffer";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { Duplex } from "node:stream";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { deferred } from "../../core/deferred.js";
import { HOST, request, SecretWorld, VALUE } from "../testing/secret-world.js";
import { type Certificate, makeCertificate } from "../testing/tls.js";
import { readAll, readUntilText } from "../testing/world.js";

let certificate: Certificate;
let world: SecretWorld;
let key: string;
beforeAll(() => {
  certificate = makeCertificate(HOST);
});
beforeEach(() => {
  world = new SecretWorld(certificate);
  key = world.placeholder();
});
afterEach(() => world.end());

const bearer = () => `Authorization: Bearer ${key}`;

/** A server that answers each head with these pieces, each in a segment of its own. */
async function serveRaw(...pieces: readonly string[]): Promise<void> {
  await world.serveTls(async (socket) => {
    await once(socket, "data");
    for (const piece of pieces) await new Promise((sent) => socket.write(piece, sent));
    socket.end();
  });
}

describe("an echo of the secret", () => {
  it("in an answer's head becomes the placeholder", async () => {
    await serveRaw(
      `HTTP/1.1 302 Found ${VALUE}\r\nLocation: /?k=${encodeURIComponent(VALUE)}\r\nX: ${VALUE};${VALUE}\r\n\r\n`,
    );
    const answer = await world.talk(world.secretGateway(), request(bearer()));
    expect(answer).toBe(`HTTP/1.1 302 Found ${key}\r\nLocation: /?k=${key}\r\nX: ${key};${key}\r\n\r\n`);
  });

  it("in a body is masked by as many bytes, whatever its length says", async () => {
    const body = `{"seen":"Bearer ${VALUE}"}`;
    await serveRaw(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
    const answer = await world.talk(world.secretGateway(), request(bearer()));
    expect(answer).not.toContain(VALUE);
    expect(answer.split("\r\n\r\n")[1]).toBe(`{"seen":"Bearer ${key.slice(0, VALUE.length)}"}`);
  });

  it("across segments, chunks and the lines between them is masked", async () => {
    const [a, b, c] = [VALUE.slice(0, 5), VALUE.slice(5, 6), VALUE.slice(6)];
    await serveRaw(
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
      `7\r\n<<${a}\r\n1`,
      `\r\n${b}\r\n${(c.length + 2).toString(16)}\r\n${c.slice(0, 4)}`,
      `${c.slice(4)}>>\r\n0\r\nX-Trailer: ${VALUE}\r\n\r\n`,
    );
    const answer = await world.talk(world.secretGateway(), request(bearer()));
    const mask = key.slice(0, VALUE.length);
    expect(answer).toBe(
      `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7\r\n<<${mask.slice(0, 5)}\r\n1\r\n${mask.slice(5, 6)}\r\n` +
        `${(c.length + 2).toString(16)}\r\n${mask.slice(6)}>>\r\n0\r\nX-Trailer: ${key}\r\n\r\n`,
    );
  });

  it("within Basic credentials is masked, and in what the server read from them", async () => {
    const basic = (password: string) => Buffer.from(`me:${password}`).toString("base64");
    await serveRaw(`HTTP/1.1 200 OK\r\nX: Basic ${basic(VALUE)}\r\n\r\nBasic ${basic(VALUE)} me:${VALUE}`);
    const answer = await world.talk(world.secretGateway(), request(`Authorization: Basic ${basic(key)}`));
    expect(answer).toMatch(/X: Basic \w+agentkernel-secret-/);
    // All but the characters at its ends, which others share.
    expect(answer).not.toContain(basic(VALUE).slice(6, -4));
    expect(answer).not.toContain(VALUE);
  });

  it("as a JSON string writes it is masked", async () => {
    const quoted = 'a"quoted\\value';
    const other = new SecretWorld(certificate, { name: "Q", host: HOST, header: "x-q", value: quoted });
    try {
      await other.serveHttp((asked, response) => response.end(JSON.stringify(asked.headers)));
      const answer = await other.talk(other.secretGateway(), request(`X-Q: ${other.placeholder("Q")}`));
      expect(answer).toContain("agentkernel-se");
      expect(answer).not.toContain("quoted");
    } finally {
      await other.end();
    }
  });

  it("cannot be hidden from us by asking for a packed answer", async () => {
    await world.serveHttp();
    await world.talk(world.secretGateway(), request(bearer(), "Accept-Encoding: gzip, br", "TE: gzip"));
    expect(world.received[0]?.headers["accept-encoding"]).toBe("identity");
    expect(world.received[0]?.headers.te).toBeUndefined();
  });

  it("in two writes is masked, wherever it is cut and however long the server waits between them", async () => {
    // The line before the first half is here only when that half has been handled, too.
    await world.serveTls((socket) => {
      socket.on("data", (asked: Buffer) => {
        const cut = Number(/X-Cut: (\d+)/.exec(String(asked))?.[1]);
        socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${VALUE.length + 4}\r\n\r\nab\n${VALUE.slice(0, cut)}`);
        released.resolve(() => socket.write(`${VALUE.slice(cut)}\n`));
      });
    });
    let released = deferred<() => void>();
    const client = await world.tls(world.secretGateway());
    const kept = request(bearer()).replace("Connection: close\r\n", "");
    const answers: string[] = [];
    for (let cut = 1; cut < VALUE.length; cut++) {
      released = deferred();
      client.write(kept.replace("\r\n\r\n", `\r\nX-Cut: ${cut}\r\n\r\n`));
      const second = await released.promise;
      const before = await readUntilText(client, "ab\n");
      second();
      answers.push(before + (await readUntilText(client, "\n")));
    }
    const mask = key.slice(0, VALUE.length);
    expect(answers.map((answer) => answer.split("\r\n\r\n")[1])).toEqual(answers.map(() => `ab\n${mask}\n`));
  });

  it("cut into chunks with long lines between them ends the connection, with nothing of it through", async () => {
    const filler = "x".repeat(3000);
    await serveRaw(
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
      [...VALUE].map((letter) => `1;${filler}\r\n${letter}\r\n`).join(""),
      "0\r\n\r\n",
    );
    const answer = await world.talk(world.secretGateway(), request(bearer()));
    expect(answer.split("\r\n\r\n").slice(1).join()).toMatch(/^(1;x*\r\n)?$/);
    expect((await world.ended()).rule).toBe("the server's answer: too much between small chunks");
  });

  it("is not looked for behind the end of a line: events pass at once", async () => {
    await world.serveTls((socket) => {
      socket.once("data", () => socket.write("HTTP/1.1 200 OK\r\n\r\ndata: 1\n\n"));
    });
    const client = await world.tls(world.secretGateway());
    client.write(request());
    await readUntilText(client, "data: 1\n\n");
  });

  it("of an answer before any question is masked too, and one that is no HTTP ends the connection", async () => {
    await world.serveTls((socket) => void socket.end(`HTTP/1.1 408 Timeout\r\nX: ${VALUE}\r\n\r\n`));
    expect(await readAll(await world.tls(world.secretGateway()))).toContain(`X: ${key}`);
    const odd = new SecretWorld(certificate);
    try {
      await odd.serveTls((socket) => void socket.end(`SECRET ${VALUE}\r\n\r\n`));
      expect(await odd.talk(odd.secretGateway(), request())).toBe("");
      expect((await odd.ended()).rule).toBe("the server's answer: a malformed status line");
    } finally {
      await odd.end();
    }
  });
});

describe("the rest of HTTP/1.1", () => {
  it("a WebSocket opens with the secret in its handshake, then carries what it likes", async () => {
    await world.serveTls((socket) => {
      socket.once("data", (head: Buffer) => {
        expect(String(head)).toContain(`Authorization: Bearer ${VALUE}\r\n`);
        socket.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n");
        socket.pipe(socket);
      });
    });
    const client = await world.tls(world.secretGateway());
    client.write(request(bearer(), "Upgrade: websocket").replace("close", "Upgrade"));
    await readUntilText(client, "\r\n\r\n");
    client.write(`GET / HTTP/1.1\r\nHost: elsewhere\r\n${bearer()}\r\n\r\nframes`);
    expect(await readUntilText(client, "frames")).toContain(bearer());
    client.end();
    expect((await world.ended()).secrets).toContainEqual({ name: "API_KEY", use: "left", where: "the body" });
  });

  it("a WebSocket that is refused leaves a connection of requests", async () => {
    await world.serveHttp();
    const client = await world.tls(world.secretGateway());
    const upgrade = request("Upgrade: websocket").replace("close", "Upgrade");
    client.write(upgrade + request(bearer()));
    await readAll(client);
    expect(world.received.map(({ headers }) => headers.authorization)).toEqual([undefined, `Bearer ${VALUE}`]);
  });

  it("a client that waits for 100-continue gets it, then sends its body", async () => {
    await world.serveHttp((asked, response) => {
      asked.resume().on("end", () => response.end("taken"));
    });
    const client = await world.tls(world.secretGateway());
    client.write(request(bearer(), "Expect: 100-continue", "Content-Length: 4").replace("GET", "PUT"));
    await readUntilText(client, "100 Continue\r\n\r\n");
    client.write("body");
    await readUntilText(client, "taken");
    expect(world.received[0]).toMatchObject({ body: "body", headers: { authorization: `Bearer ${VALUE}` } });
  });

  it("HEAD and 304 have no body, and the next answer is read from its start", async () => {
    await world.serveHttp((asked, response) => {
      response.writeHead(asked.url === "/304" ? 304 : 200, asked.url === "/304" ? {} : { "content-length": "5" });
      response.end(asked.method === "HEAD" || asked.url === "/304" ? undefined : "12345");
    });
    const client = await world.tls(world.secretGateway());
    const kept = request(bearer()).replace("Connection: close\r\n", "");
    client.write(kept.replace("GET", "HEAD") + kept.replace("/path", "/304") + request(bearer()));
    expect((await readAll(client)).match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 200", "HTTP/1.1 304", "HTTP/1.1 200"]);
  });

  it("works on a stream that is no socket, as a sandbox's are, and with its half-close", async () => {
    await world.serveHttp();
    const { inside, outside } = await world.pair();
    const stream = Duplex.from({ readable: outside, writable: outside });
    expect(await world.secretGateway().connect({ kind: "name", name: HOST, port: 443 }, stream)).toBeNull();
    const client = connectTls({ socket: inside, servername: HOST, ca: world.secrets.authority.certificatePem });
    client.end(request(bearer()));
    expect(await readAll(client)).toContain("answer");
    expect(world.received[0]?.headers.authorization).toBe(`Bearer ${VALUE}`);
    await world.ended();
  });
});

describe("bulk data", () => {
  const big = randomBytes(24 * 1024 * 1024);
  const digest = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");

  it("comes down whole, and a reader that stops stops the server", async () => {
    const stopped = deferred<number>();
    await world.serveTls((socket) => {
      let written = 0;
      const write = (): void => {
        while (written < big.length) {
          const part = big.subarray(written, written + 65_536);
          written += part.length;
          if (!socket.write(part)) {
            const timer = setTimeout(() => stopped.resolve(written), 100);
            socket.once("drain", () => {
              clearTimeout(timer);
              write();
            });
            return;
          }
        }
        socket.end();
      };
      socket.once("data", () => {
        socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${big.length}\r\nConnection: close\r\n\r\n`);
        write();
      });
    });
    const client = await world.tls(world.secretGateway());
    client.write(request(bearer()));
    expect(await stopped.promise).toBeLessThan(big.length);
    const answer = Buffer.from(await readAll(client), "latin1");
    expect(digest(answer.subarray(answer.indexOf("\r\n\r\n") + 4))).toBe(digest(big));
  });

  it("goes up whole, and a server that does not read stops the client", async () => {
    const got = deferred<string>();
    const reading = deferred<TLSSocket>();
    await world.serveTls((socket) => reading.resolve(socket));
    const client = await world.tls(world.secretGateway());
    client.write(request(bearer(), `Content-Length: ${big.length}`).replace("GET", "PUT"));
    expect(client.write(big)).toBe(false);
    const socket = await reading.promise;
    expect(client.writableLength).toBeGreaterThan(0);
    const hash = createHash("sha256");
    let left = big.length;
    let head = "";
    socket.on("data", (chunk: Buffer) => {
      let body = chunk;
      if (!head.includes("\r\n\r\n")) {
        head += chunk.toString("latin1");
        const end = head.indexOf("\r\n\r\n");
        body = end < 0 ? chunk.subarray(0, 0) : Buffer.from(head.slice(end + 4), "latin1");
      }
      hash.update(body);
      left -= body.length;
      if (left === 0) got.resolve(hash.digest("hex"));
    });
    expect(await got.promise).toBe(digest(big));
    expect(head).toContain(VALUE);
  });
});
