import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseAuthority, parseHost } from "./host.js";

const name = (text: string): string | null => {
  const host = parseHost(text);
  return host.kind === "name" ? host.name : null;
};

describe("a name has one form", () => {
  it.each([
    ["example.com", "example.com"],
    ["EXAMPLE.Com", "example.com"],
    ["example.com.", "example.com"],
    ["ｅｘａｍｐｌｅ.com", "example.com"],
    ["example。com", "example.com"],
    ["exam\u00adple.com", "example.com"],
    ["BÜCHER.example", "xn--bcher-kva.example"],
    ["xn--bcher-kva.example", "xn--bcher-kva.example"],
    ["_dmarc.example.com", "_dmarc.example.com"],
    // Cyrillic а: another name.
    ["ex\u0430mple.com", "xn--exmple-4nf.com"],
  ])("%s is %s", (text, expected) => expect(name(text)).toBe(expected));

  it("which has itself as its form", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.domain(), fc.webAuthority()), (text) => {
        const once = name(text);
        return once === null || name(once) === once;
      }),
      { numRuns: 500 },
    );
  });
});

describe("no name", () => {
  it.each([
    "",
    ".",
    "..",
    "example..com",
    ".example.com",
    "example.com..",
    "example.com\0.evil.net",
    "example.com\u0000",
    "example.com\n",
    "example.com\r\nHost: x",
    "exam ple.com",
    " example.com",
    "example.com\t",
    "ex%61mple.com",
    "example.com%00.evil.net",
    "user@example.com",
    "example.com@evil.net",
    "user:pw@example.com",
    "[example.com]",
    "example.com]",
    "example.com:443",
    "http://example.com",
    "example.com/",
    "example.com\\evil",
    "example.com?x",
    "example.com#x",
    "*",
    "**",
    "*.example.com",
    "-example.com",
    "example-.com",
    `${"a".repeat(64)}.com`,
    `${"a.".repeat(127)}com`,
    "a".repeat(100_000),
    "xn--a.com",
    "\u202eexample.com",
  ])("is %j", (text) => expect(parseHost(text).kind).toBe("invalid"));
});

describe("an authority", () => {
  it.each([
    ["example.com:443", "example.com", 443],
    ["Example.COM.:1", "example.com", 1],
    ["example.com", "example.com", null],
    ["[::1]:80", "::1", 80],
    ["[::ffff:10.0.0.1]:65535", "10.0.0.1", 65_535],
    ["0x7f.1:80", "127.0.0.1", 80],
  ])("%s", (text, host, port) => {
    const parsed = parseAuthority(text);
    if ("kind" in parsed) throw new Error(parsed.why);
    expect([parsed.host.kind === "name" ? parsed.host.name : parsed.host.address.text, parsed.port]).toEqual([
      host,
      port,
    ]);
  });

  it.each([
    "example.com:0443",
    "example.com:+443",
    "example.com:-1",
    "example.com:0",
    "example.com:65536",
    "example.com:4.43",
    "example.com:443 ",
    "example.com: 443",
    "example.com:0x1bb",
    "example.com:",
    "example.com:443:443",
    ":443",
    "",
    "[::1",
    "::1:443",
    "[127.0.0.1]:80",
    "[::1%25eth0]:80",
    "a@example.com:443",
    "example.com:４４３",
  ])("is not %j", (text) => expect(parseAuthority(text)).toHaveProperty("kind", "invalid"));
});
