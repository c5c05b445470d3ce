/** Protocols that are neither HTTP nor TLS, and those that servers strip before they read HTTP. */
import { Buffer } from "node:buffer";
import { describe, expect, it } from "vitest";
import { get, inspector, textOf, through } from "../testing/peek.js";

describe("other protocols", () => {
  it.each([
    "SSH-2.0-x\r\n",
    "\0\0\0\x08\x04\xd2\x16\x2f",
    "EHLO me\r\n",
    "AMQP\0\0\x09\x01",
    "PING\r\n",
    "\x16\x20",
    "0032git-upload-pack /p\0host=b\0",
  ])("%j passes, and is not looked at further", (bytes) => {
    const look = inspector();
    expect(through(bytes, 1, look)).toBe(bytes);
    expect(look.settled).toBe(true);
  });

  it.each(["\x05\x01\x00", "\x05\x02\x00\x02", "\x04\x01\x00\x50"])(
    "%j is SOCKS, and refused where a name was allowed",
    (bytes) => {
      expect(through(bytes, 1)).toBe("refused: SOCKS, which leads on to another host");
      expect(through(bytes, 1, inspector("8.8.8.8"))).toBe(bytes);
      const look = inspector();
      look.observe(Buffer.from("greeting"));
      expect(through(bytes, 1, look)).toBe(bytes);
    },
  );

  it.each([
    "GET /",
    "OPTIONS *",
    "GET x://y",
    "DESCRIBE rtsp://b/ RTSP/1.0",
    "SOURCE / ICE/1.0",
    "CONNECT b:80",
    "GET /\0",
    "GET x",
    "get x y",
    "\0GET / HTTP/1.1",
    "\0\0GET x",
    "\xef\xbb\xbfGET / HTTP/1.1",
    "\xef\xbb\xbf\r\nGET x",
    "\xa0GET\x0b/",
    "\x85\x0cGET / HTTP/1.1",
    "\x1cGET / HTTP/1.1",
  ])("%j is a request to some servers, and refused", (line) => {
    expect(through(`${line}\r\nHost: b.example\r\n\r\n`, 1)).toBe("refused: a malformed request line");
  });

  it.each([
    ["1", "PROXY TCP4 192.0.2.1 192.0.2.2 1 80\r\n"],
    ["1, of an unknown family", "PROXY UNKNOWN\r\n"],
    ["2", "\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\xc0\0\x02\x01\xc0\0\x02\x02\0\x01\0\x50"],
    ["2, of an unknown family", "\r\n\r\n\0\r\nQUIT\n\x20\0\0\0"],
  ])(
    "a PROXY protocol header of version %s is refused, whatever the connection was allowed for",
    (_version, header) => {
      for (const name of ["a.example", "8.8.8.8"])
        for (const pieces of [1, 7, 999]) {
          expect(through(header + get("b.example"), pieces, inspector(name))).toMatch(
            /^refused: a PROXY protocol header/,
          );
        }
    },
  );

  it.each([
    ["PostgreSQL's start", "\0\0\0\x4e\0\x03\0\0user\0me\0\0"],
    ["PostgreSQL's question for TLS", "\0\0\0\x08\x04\xd2\x16\x2f"],
    ["a query of DNS over TCP", "\0\x1d\x4a\x4b\x01\0\0\x01\0\0\0\0\0\0\x01a\0\0\x01\0\x01"],
    ["Remote Desktop", "\x03\0\0\x13\x0e\xe0\0\0\0\0\0\x01\0\x08\0\x03\0\0\0"],
    ["MQTT", "\x10\x0c\0\x04MQTT\x04\x02\0\x3c\0\0"],
    ["Kafka", "\0\0\0\x43\0\x12\0\x03\0\0\0\x01"],
  ])("%s passes at once, although it waits for an answer then", (_what, bytes) => {
    expect(through(bytes, 1)).toBe(bytes);
  });

  it("text without the end of its line passes when its sender ends", () => {
    const look = inspector();
    expect(through("hello", 1, look)).toBe("");
    expect(textOf(look.end())).toBe("hello");
  });

  it("a request or hello that its sender does not finish never passes", () => {
    const look = inspector();
    through("GET / HTTP/1.1\r\nHost: b.exam", 5, look);
    expect(textOf(look.end())).toBe("refused: an unfinished request");
  });
});
