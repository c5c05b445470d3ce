import { describe, expect, it } from "vitest";
import { type Door, refuseForeignPages } from "./browsers.js";

const tcp: Door = { kind: "tcp", isTls: false, host: "127.0.0.1", domain: null, newcomers: null };
const unix: Door = { kind: "unix", isTls: false, host: null, domain: null, newcomers: null };
const LOOPBACK = "127.0.0.1";

const isRefused = (
  headers: Readonly<Record<string, string>>,
  door = tcp,
  localAddress: string | undefined = LOOPBACK,
) => {
  try {
    refuseForeignPages(headers, door, localAddress);
    return null;
  } catch (error) {
    const { code, details } = error as { code: string; details: { field: string } };
    return `${code} ${details.field}`;
  }
};

describe("the Host header of a request over loopback", () => {
  it.each([
    "localhost",
    "LocalHost:8080",
    "localhost.",
    "127.0.0.1",
    "127.0.0.1:1",
    "127.0.0.1:65535",
    "[::1]",
    "[::1]:8080",
  ])("may be %s", (host) => expect(isRefused({ host })).toBeNull());

  it.each([
    "evil.example",
    "evil.example:8080",
    "localhost.evil.example",
    "127.0.0.1.evil.example",
    "127.0.0.2",
    "[::2]",
    "[::1]x",
    "x[::1]",
    "localhost:",
    "localhost:123456",
    "localhost:8080:1",
    "localhost:x",
    ":8080",
    "localhost..",
    "localhost:80 ",
    "",
  ])("may not be %j", (host) => expect(isRefused({ host })).toBe("forbidden Host"));

  it("may not be missing", () => expect(isRefused({})).toBe("forbidden Host"));

  it("may be the name that the server was told to listen on, in any case", () => {
    const named: Door = { ...tcp, host: "Agents.Internal" };
    expect(isRefused({ host: "agents.internal:8080" }, named)).toBeNull();
    expect(isRefused({ host: "other.internal" }, named)).toBe("forbidden Host");
  });

  it("may be a name below the server's own domain", () => {
    const named: Door = { ...tcp, domain: "agents.localhost" };
    expect(isRefused({ host: "8080-box.Agents.localhost:80" }, named)).toBeNull();
    for (const host of ["agents.localhost", "xagents.localhost", "agents.localhost.evil.example", ".evil.example"])
      expect(isRefused({ host }, named)).toBe("forbidden Host");
  });

  it("is not asked for over a Unix socket, nor on an address of the network, where a key is", () => {
    expect(isRefused({ host: "anything" }, unix, undefined)).toBeNull();
    expect(isRefused({ host: "server.example" }, tcp, "192.0.2.7")).toBeNull();
  });
});

describe("where a page is from", () => {
  it("may be where the request goes to, with the same port and protocol", () => {
    expect(isRefused({ host: "localhost:8080", origin: "http://localhost:8080" })).toBeNull();
    expect(isRefused({ host: "LOCALHOST:8080", origin: "http://localhost:8080" })).toBeNull();
    expect(isRefused({ host: "localhost", origin: "https://localhost" }, { ...tcp, isTls: true })).toBeNull();
  });

  it.each(["http://evil.example", "http://localhost:8081", "https://localhost:8080", "http://localhost", "null", ""])(
    "may not be %j",
    (origin) => expect(isRefused({ host: "localhost:8080", origin })).toBe("forbidden Origin"),
  );

  it("may not be another page where the server has TLS either", () => {
    const origin = "http://localhost";
    expect(isRefused({ host: "localhost", origin }, { ...tcp, isTls: true })).toBe("forbidden Origin");
  });

  it("is looked at over a Unix socket, too", () => {
    expect(isRefused({ host: "x", origin: "http://evil.example" }, unix, undefined)).toBe("forbidden Origin");
    expect(isRefused({ origin: "http://" }, unix, undefined)).toBeNull();
  });

  it.each(["cross-site", "same-site"])("is refused where the browser says %s", (site) => {
    expect(isRefused({ host: "localhost", "sec-fetch-site": site })).toBe("forbidden Sec-Fetch-Site");
  });

  it.each(["same-origin", "none"])("is no other where the browser says %s", (site) => {
    expect(isRefused({ host: "localhost", "sec-fetch-site": site })).toBeNull();
  });
});
