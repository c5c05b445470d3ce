import { Buffer } from "node:buffer";
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { allowance, get, inspector, LIMIT, textOf, through } from "../testing/peek.js";
import { clientHello, inRecords, withExtension } from "../testing/tls.js";
import { parseRequestHead } from "./http-head.js";
import type { Inspector } from "./inspector.js";

it.each([
  ["blanks within a value", `X: a${" ".repeat(60_000)}b\r\n`],
  ["one name very often", "a:\r\n".repeat(15_000)],
])("N8 a head with %s takes no longer to read than its size", (_what, fields) => {
  const head = Buffer.from(`GET / HTTP/1.1\r\nHost: a.example\r\n${fields}\r\n`);
  const begin = performance.now();
  expect(parseRequestHead(head)).toMatchObject({ host: "a.example" });
  expect(performance.now() - begin).toBeLessThan(500);
});

describe("N6 TLS", () => {
  let hello: Buffer;
  let other: Buffer;
  let nameless: Buffer;
  beforeAll(async () => {
    hello = await clientHello({ servername: "a.example" });
    other = await clientHello({ servername: "b.example" });
    nameless = await clientHello({});
  });

  it("with the allowed name passes unchanged, whatever pieces and records it comes in", () => {
    const latin1 = hello.toString("latin1");
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 600 }), fc.integer({ min: 1, max: 600 }), (records, pieces) => {
        const split = inRecords(hello, records);
        expect(through(split, pieces)).toBe(split.toString("latin1"));
      }),
      { numRuns: 40 },
    );
    expect(through(hello, 1)).toBe(latin1);
  });

  it("is read, and then left alone", () => {
    const seen: string[] = [];
    const look = inspector("a.example", seen);
    through(Buffer.concat([hello, Buffer.from([20, 3, 3, 0, 1, 1, 23, 3, 3, 0, 1, 9])]), 1, look);
    expect(seen).toEqual(["sni a.example"]);
    expect(look.settled).toBe(true);
  });

  it("with another name, an allowed one too, is refused before a byte has passed", () => {
    expect(through(other, 1)).toBe("refused: SNI says b.example, allowed was a.example");
    expect(through(inRecords(other, 1))).toBe("refused: SNI says b.example, allowed was a.example");
  });

  it("without a name, or in the form of SSL 2, is refused where a name was allowed", () => {
    expect(through(nameless)).toBe("refused: a ClientHello without a server name");
    expect(through(Buffer.from([0x80, 46, 1, 3, 1, 0, 0]))).toBe("refused: a ClientHello without a server name");
    expect(through(nameless, 99, inspector("8.8.8.8"))).toBe(nameless.toString("latin1"));
  });

  it("with an encrypted hello inside is refused", () => {
    expect(through(withExtension(hello, 0xfe0d, Buffer.alloc(100)))).toMatch(/refused: an encrypted ClientHello/);
  });

  it("with two names, two server-name fields or a NUL in it is refused", async () => {
    const field = (name: string) => {
      const text = Buffer.from(name, "latin1");
      return Buffer.concat([Buffer.from([0, text.length + 3, 0, 0, text.length]), text]);
    };
    expect(through(withExtension(hello, 0, field("a.example")))).toMatch(/an extension twice/);
    const two = Buffer.concat([
      Buffer.from([0, 24, 0, 0, 9]),
      Buffer.from("a.example"),
      Buffer.from([0, 0, 9]),
      Buffer.from("b.example"),
    ]);
    expect(through(withExtension(nameless, 0, two))).toMatch(/not exactly one server name/);
    expect(through(withExtension(nameless, 0, field("a.example\0.b.example")))).toMatch(/SNI is not a name/);
    expect(through(withExtension(nameless, 0, field("A.EXAMPLE")))).not.toMatch(/refused/);
  });

  it("a second hello, which a server may ask for, is held to the same name", () => {
    const cipher = Buffer.from([20, 3, 3, 0, 1, 1]);
    expect(through(Buffer.concat([hello, cipher, hello]), 7)).not.toMatch(/refused/);
    expect(through(Buffer.concat([hello, cipher, other]), 7)).toMatch(/SNI says b\.example/);
    const early = withExtension(hello, 42, Buffer.alloc(0));
    const data = Buffer.concat([Buffer.from([23, 3, 3, 1, 0]), Buffer.alloc(256, 7)]);
    expect(through(Buffer.concat([early, cipher, data, data, other]), 100)).toMatch(/SNI says b\.example/);
    expect(through(Buffer.concat([hello, data, other]))).not.toMatch(/refused/);
    const empty = Buffer.from([22, 3, 3, 0, 0]);
    const canceled = Buffer.from([21, 3, 3, 0, 2, 1, 90]);
    expect(through(Buffer.concat([hello, cipher, empty, other]), 7)).toMatch(/SNI says b\.example/);
    expect(through(Buffer.concat([hello, canceled, other]), 7)).toMatch(/SNI says b\.example/);
  });

  it.each([
    ["an empty record of another type", [20, 3, 1, 0, 0], 3],
    ["an empty record of its own type", [22, 3, 1, 0, 0], 3],
    ["an alert", [21, 3, 1, 0, 2, 1, 90], 3],
    ["a version that some servers take", [], 2],
  ])("behind %s is not carried unseen", (_what, before, major) => {
    const odd = Buffer.from(other);
    odd[1] = major;
    expect(through(Buffer.concat([Buffer.from(before), odd]), 1)).toMatch(/^refused: /);
  });

  it("is not seen in a protocol whose server speaks first, as MySQL's lengths may look like one", () => {
    const look = inspector();
    look.observe(Buffer.from([74, 0, 0, 0, 10]));
    expect(through("\x16\x01\x00\x01login", 99, look)).toBe("\x16\x01\x00\x01login");
  });

  it("N8 that never ends its hello is refused at the limit, and what was held is free again", () => {
    const held = allowance();
    const look = inspector("a.example", [], held);
    const endless = Buffer.concat([Buffer.from([22, 3, 1, 0x40, 0]), Buffer.alloc(LIMIT * 3)]);
    endless.set([1, 0, 0x0f, 0xf0], 5);
    expect(through(endless, 1, look)).toBe("refused: too large a ClientHello");
    look.release();
    expect(held.used).toBe(0);
    expect(through(Buffer.from([22, 3, 1, 0, 5, 1, 0xff, 0xff, 0xff, 0]))).toBe("refused: too large a ClientHello");
  });

  it("of any bytes is judged without failing", () => {
    const begin = Buffer.from([22, 3, 1]);
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), fc.integer({ min: 1, max: 50 }), (bytes, pieces) => {
        through(Buffer.concat([begin, bytes]), pieces);
      }),
    );
    fc.assert(
      fc.property(fc.nat(hello.length - 1), fc.nat(255), (at, value) => {
        const changed = Buffer.from(hello);
        changed[at] = value;
        through(changed, 64);
      }),
      { numRuns: 500 },
    );
  });
});

describe("N6 HTTP/1", () => {
  it.each([1, 3, 7, 1000])("with the allowed Host passes unchanged in pieces of %i", (pieces) => {
    const body = "POST /x HTTP/1.1\r\nHost: A.example:443\r\nContent-Length: 5\r\n\r\nGET /";
    const chunked =
      "PUT / HTTP/1.1\r\nhost: a.example\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\nHost:\r\n0\r\nT: v\r\n\r\n";
    const all = `\r\n${get("a.example")}${body}${chunked}${get("a.example.")}`;
    expect(through(all, pieces)).toBe(all);
  });

  it.each([
    ["another Host", get("b.example"), /Host says b\.example/],
    ["no Host", "GET / HTTP/1.1\r\n\r\n", /without a Host/],
    ["no Host in 1.0", "GET / HTTP/1.0\r\n\r\n", /without a Host/],
    ["two Hosts", get("a.example", "Host: b.example\r\n"), /more than one Host/],
    ["a Host with user", get("a.example@b.example"), /not a name/],
    ["a Host with a strange port", get("a.example:0443"), /not a name/],
    ["an address as Host", get("127.0.0.1"), /Host says 127\.0\.0\.1/],
    [
      "an absolute address elsewhere",
      "GET http://c.example/ HTTP/1.1\r\nHost: c.example\r\n\r\n",
      /another destination/,
    ],
    ["an absolute address beside another Host", "GET http://a.example/ HTTP/1.1\r\nHost: b.example\r\n\r\n", /differ/],
    ["an absolute address with user", "GET http://a.example@c.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n", /refused/],
    ["an absolute https address", "GET https://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n", /not an http address/],
    ["a backslash after the host", "GET http://a.example\\.c.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n", /refused/],
    ["a second request elsewhere", get("a.example") + get("b.example"), /Host says b\.example/],
    ["both lengths", get("a.example", "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n"), /both/],
    ["two lengths", get("a.example", "Content-Length: 4\r\nContent-Length: 5\r\n"), /Content-Length/],
    ["a list of lengths", get("a.example", "Content-Length: 4, 4\r\n"), /Content-Length/],
    ["a signed length", get("a.example", "Content-Length: +4\r\n"), /Content-Length/],
    ["another coding", get("a.example", "Transfer-Encoding: xchunked\r\n"), /Transfer-Encoding/],
    ["two codings", get("a.example", "Transfer-Encoding: gzip, chunked\r\n"), /Transfer-Encoding/],
    ["chunks in 1.0", "POST / HTTP/1.0\r\nHost: a.example\r\nTransfer-Encoding: chunked\r\n\r\n", /Transfer-Encoding/],
    ["a space before the colon", get("a.example", "Transfer-Encoding : chunked\r\n"), /malformed header/],
    ["a folded line", get("a.example", "X: a\r\n Host: b.example\r\n"), /malformed header/],
    ["a bare CR", get("a.example", "X: a\rHost: b.example\r\n"), /malformed header/],
    ["a NUL", get("a.example", "X: a\0\r\n"), /malformed header/],
    ["a line without a colon", get("a.example", "nonsense\r\n"), /malformed header/],
    ["two spaces in the request line", "GET  / HTTP/1.1\r\nHost: a.example\r\n\r\n", /request line/],
    ["a space before the method", " GET / HTTP/1.1\r\nHost: b.example\r\n\r\n", /request line/],
    ["a tab in the request line", "GET\t/ HTTP/1.1\r\nHost: b.example\r\n\r\n", /request line/],
    ["an unknown version", "GET / HTTP/1.2\r\nHost: a.example\r\n\r\n", /request line/],
    ["HTTP/2 without TLS", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", /HTTP\/2 without TLS/],
    ["an upgrade to it", get("a.example", "Connection: Upgrade\r\nUpgrade: h2c\r\n"), /HTTP\/2 without TLS/],
    ["a bad chunk", `${get("a.example", "Transfer-Encoding: chunked\r\n")}zz\r\n`, /malformed chunk/],
    [
      "a chunk that is longer than it said",
      `${get("a.example", "Transfer-Encoding: chunked\r\n")}1\r\nab\r\n`,
      /longer than/,
    ],
    [
      "a line feed alone behind a chunk's extension",
      `${get("a.example", "Transfer-Encoding: chunked\r\n")}2;x\nab\r\n0\r\n\r\n${get("b.example")}`,
      /does not end in CR LF/,
    ],
    [
      "a line feed alone behind a chunk's size",
      `${get("a.example", "Transfer-Encoding: chunked\r\n")}2\nab\r\n0\r\n\r\n`,
      /does not end in CR LF/,
    ],
    [
      "a line feed alone in a trailer",
      `${get("a.example", "Transfer-Encoding: chunked\r\n")}0\r\nX: y\n\r\n`,
      /does not end in CR LF/,
    ],
    ["a negative chunk", `${get("a.example", "Transfer-Encoding: chunked\r\n")}-1\r\n`, /malformed chunk/],
    [
      "a request behind the chunks",
      `${get("a.example", "Transfer-Encoding: chunked\r\n")}0\r\n\r\n${get("b.example")}`,
      /b\.example/,
    ],
    ["a request behind a body", `${get("a.example", "Content-Length: 3\r\n")}abc${get("b.example")}`, /b\.example/],
    ["too large a head", get("a.example", `X: ${"x".repeat(LIMIT)}\r\n`), /too large a head/],
    ["a first line without end", `GET /${"x".repeat(LIMIT)}`, /too large a head/],
    ["CONNECT elsewhere", "CONNECT c.example:443 HTTP/1.1\r\nHost: a.example\r\n\r\n", /another destination/],
    [
      "CONNECT with a Host elsewhere",
      "CONNECT b.example:443 HTTP/1.1\r\nHost: c.example\r\n\r\n",
      /Host says c.example/,
    ],
    ["CONNECT to an address", "CONNECT 10.0.0.1:443 HTTP/1.1\r\nHost: a.example\r\n\r\n", /another destination/],
  ])("with %s is refused", (_what, bytes, reason) => {
    expect(through(bytes)).toMatch(reason);
    expect(through(bytes, 1)).toMatch(reason);
  });

  it("bytes of a body are not looked at, and a large one costs one step per chunk", () => {
    const look = inspector();
    through(get("a.example", "Content-Length: 1000000\r\n"), 100, look);
    const block = Buffer.from("GET / HTTP/1.1\r\nHost: b.example\r\n\r\n".padEnd(100_000));
    for (let i = 0; i < 10; i++) {
      const passed = look.push(block) as readonly Buffer[];
      // The very same memory, not a copy of it.
      expect(passed.map((part) => [part.buffer === block.buffer, part.length])).toEqual([[true, block.length]]);
    }
    expect(through(get("b.example"), 100, look)).toMatch(/b\.example/);
  });

  it("of any bytes is judged without failing", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom("\r", "\n", ":", " ", "a", "0", "\0", "é") }), (noise) => {
        through(`GET / HTTP/1.1\r\nHost: a.example\r\n${noise}`, 5);
      }),
    );
  });
});

describe("N7 a change of protocols", () => {
  const upgrade = get("a.example", "Connection: Upgrade\r\nUpgrade: websocket\r\n");
  const answer = (look: Inspector, text: string) => textOf(look.observe(Buffer.from(text)));

  it("that the server grants ends the looking", () => {
    const look = inspector();
    expect(through(upgrade, 9, look)).toBe(upgrade);
    expect(look.waiting).toBe(true);
    expect(textOf(look.push(Buffer.from("\x81\x05early")))).toBe("");
    expect(answer(look, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n")).toBe(
      "\u0081\u0005early".replace("\u0081", "\u00c2\u0081"),
    );
    expect([look.waiting, look.settled]).toEqual([false, true]);
  });

  it("that the server does not grant leaves the next request under the same eyes", () => {
    const look = inspector();
    through(upgrade, 99, look);
    expect(textOf(look.push(Buffer.from(get("b.example"))))).toBe("");
    expect(answer(look, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")).toMatch(/refused: Host says b\.example/);
  });

  it("is not taken from the body of another answer", () => {
    const look = inspector();
    through(get("a.example") + upgrade, 99, look);
    const fake = "HTTP/1.1 101 Switching Protocols\r\n\r\n";
    answer(look, `HTTP/1.1 200 OK\r\nContent-Length: ${fake.length}\r\n\r\n`);
    expect(answer(look, fake)).toBe("");
    expect([look.waiting, look.settled]).toEqual([true, false]);
  });

  it("is followed behind chunked, bodiless and interim answers", () => {
    const look = inspector();
    through(`HEAD / HTTP/1.1\r\nHost: a.example\r\n\r\n${get("a.example")}${upgrade}`, 99, look);
    answer(look, "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\nHTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n");
    answer(look, "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\nHTTP/1.1 101 Y\r\n\r\n");
    expect(look.settled).toBe(true);
  });

  it("into a tunnel of another proxy is looked at anew, for the name in the tunnel", async () => {
    const open = async (hello: string) => {
      const look = inspector();
      through("CONNECT b.example:443 HTTP/1.1\r\nHost: b.example:443\r\n\r\n", 99, look);
      answer(look, "HTTP/1.1 200 OK\r\n\r\n");
      return through(await clientHello({ servername: hello }), 50, look);
    };
    expect(await open("b.example")).not.toMatch(/refused/);
    expect(await open("a.example")).toMatch(/SNI says a\.example, allowed was b\.example/);
  });
});
