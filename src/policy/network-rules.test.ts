import { describe, expect, test } from "vitest";
import { parseDomain, whyInvalidCidr, whyInvalidDomain } from "./network-rules.js";

describe("domains", () => {
  test.each(["example.com", "*.example.com", "a-b.example", "xn--bcher-kva.example", "_dmarc.example.com"])(
    "%s is one",
    (text) => expect(whyInvalidDomain(text)).toBeNull(),
  );

  test.each([
    "",
    "*",
    "**",
    "*.com",
    "com",
    "a.*.com",
    "**.example.com",
    "example.com.",
    ".example.com",
    "a..b",
    "http://example.com",
    "example.com/path",
    "example.com:443",
    "user@example.com",
    "[::1]",
    "127.0.0.1",
    "0x7f.1",
    "2130706433",
    "0x7f000001",
    "1.2.3.0x4",
    "exam ple.com",
    "ex%61mple.com",
    "b\u00fccher.example",
    "a\u0000.com",
    "-a.example",
    "a-.example",
    `${"a".repeat(64)}.example`,
  ])("%j is none", (text) => expect(whyInvalidDomain(text)).not.toBeNull());

  test("have one form", () => expect(parseDomain("--allow-domain", "API.Example.COM")).toBe("api.example.com"));
});

describe("address ranges", () => {
  test.each(["10.1.0.0/16", "0.0.0.0/0", "fd00::/8", "::1/128"])("%s is one", (text) =>
    expect(whyInvalidCidr(text)).toBeNull(),
  );
  test.each(["10.1.0.0", "10.1.0/16", "010.1.0.0/16", "10.1.0.0/33", "fd00::/129", "fd00:::/8", "a/8", "10.1.0.0/-1"])(
    "%s is none",
    (text) => expect(whyInvalidCidr(text)).not.toBeNull(),
  );
});
