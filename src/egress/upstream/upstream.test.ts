import { Buffer } from "node:buffer";
import { once } from "node:events";
import type { Socket } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { parseHost } from "../host.js";
import { allowlist, everything, PUBLIC, readAll, World } from "../testing/world.js";
import { upstreamFor, upstreamFromEnvironment } from "./settings.js";

let world: World;
let heard: string[];
beforeEach(() => {
  world = new World();
  heard = [];
});
afterEach(() => world.end());

const PROXY = "10.9.9.9";

/** A proxy that answers with this, notes what it was asked, and then echoes. */
async function httpProxy(answer: string): Promise<void> {
  await world.serve(PROXY, 3128, (socket) => {
    socket.once("data", (chunk: Buffer) => {
      heard.push(String(chunk));
      socket.write(answer);
      socket.pipe(socket);
    });
  });
}

async function socksProxy(reply: number): Promise<void> {
  const next = async (socket: Socket) => (await once(socket, "data"))[0] as Buffer;
  await world.serve(PROXY, 1080, async (socket) => {
    heard.push((await next(socket)).toString("hex"));
    socket.write(Buffer.from([5, 2]));
    heard.push((await next(socket)).toString("latin1"));
    socket.write(Buffer.from([1, 0]));
    heard.push((await next(socket)).toString("hex"));
    socket.write(Buffer.from([5, reply, 0, 3, 2, 0x61, 0x62, 0, 9]));
    socket.pipe(socket);
  });
}

const behind = (env: Record<string, string>) => ({ upstream: upstreamFromEnvironment(env) });
const target = { kind: "name", name: "a.example", port: 443 } as const;

describe("through the user's HTTP proxy", () => {
  const env = { HTTPS_PROXY: `http://me:p%40ss@${PROXY}:3128`, NO_PROXY: "direct.example" };

  it("a destination is reached by CONNECT, and the name is not resolved here", async () => {
    await httpProxy("HTTP/1.1 200 OK\r\nX: y\r\n\r\nfirst bytes ");
    const client = await world.client(world.gateway(allowlist({ domain: "a.example" }), behind(env)), target);
    client.end("\0hello");
    expect(await readAll(client)).toBe("first bytes \0hello");
    const login = Buffer.from("me:p@ss").toString("base64");
    expect(heard).toEqual([
      `CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\nProxy-Authorization: Basic ${login}\r\n\r\n`,
    ]);
    expect(world.resolved).toEqual([]);
    expect(JSON.stringify(world.decisions)).not.toMatch(/p@ss|p%40ss/);
    expect(world.decisions[0]).toMatchObject({ upstream: `http://${PROXY}:3128`, dialled: null, resolved: [] });
  });

  it("the policy on names and on literal addresses holds, and nothing is asked of the proxy", async () => {
    await httpProxy("HTTP/1.1 200 OK\r\n\r\n");
    const gateway = world.gateway(everything, behind(env));
    expect((await world.refusal(world.gateway(allowlist(), behind(env)), target)).code).toBe("denied");
    for (const address of ["10.0.0.1", "127.0.0.1", "::1", "169.254.169.254"]) {
      expect((await world.refusal(gateway, { kind: "address", address, port: 443 })).code).toBe("denied");
    }
    expect((await world.refusal(gateway, { ...target, name: "localhost" })).code).toBe("denied");
    expect(heard).toEqual([]);
  });

  it("what NO_PROXY names is dialled here, with every check", async () => {
    world.names.set("direct.example", [PUBLIC]).set("x.direct.example", ["10.0.0.1"]);
    await world.serve(PUBLIC, 443, (socket) => socket.end("direct"));
    const gateway = world.gateway(everything, behind(env));
    expect(await readAll(await world.client(gateway, { ...target, name: "direct.example" }))).toBe("direct");
    expect((await world.refusal(gateway, { ...target, name: "x.direct.example" })).code).toBe("denied");
  });

  it.each([
    ["HTTP/1.1 403 Forbidden\r\n\r\n", "failed"],
    ["HTTP/1.1 407 Login\r\n\r\n", "failed"],
    ["HTTP/1.1 502 Bad\r\n\r\n", "unreachable"],
    ["HTTP/1.1 504 Late\r\n\r\n", "timed_out"],
    ["nonsense\r\n\r\n", "failed"],
    [`HTTP/1.1 200 OK\r\nX: ${"x".repeat(100_000)}`, "failed"],
  ])("the answer %.30j is a failure", async (answer, code) => {
    await httpProxy(answer);
    expect((await world.refusal(world.gateway(everything, behind(env)), target)).code).toBe(code);
  });

  it("a proxy that is silent is given up in time", async () => {
    await world.serve(PROXY, 3128, () => {});
    const gateway = world.gateway(everything, { ...behind(env), limits: { dialMs: 40 } });
    expect((await world.refusal(gateway, target)).code).toBe("timed_out");
  });
});

describe("through the user's SOCKS proxy", () => {
  const env = { ALL_PROXY: `socks5h://me:pw@${PROXY}` };

  it("a destination is reached by name, with the login", async () => {
    await socksProxy(0);
    const client = await world.client(world.gateway(everything, behind(env)), target);
    client.end("\0hello");
    expect(await readAll(client)).toBe("\0hello");
    const name = Buffer.from("a.example").toString("hex");
    expect(heard).toEqual(["05020002", "\x01\x02me\x02pw", `0501000309${name}01bb`]);
  });

  it("its refusal is the sandbox's", async () => {
    await socksProxy(5);
    expect((await world.refusal(world.gateway(everything, behind(env)), target)).code).toBe("refused");
  });
});

describe("the environment", () => {
  const chosen = (env: Record<string, string>, host: string, port: number) => {
    const settings = upstreamFromEnvironment(env);
    const parsed = parseHost(host);
    if (settings === null || parsed.kind === "invalid") return null;
    return upstreamFor(settings, parsed, port)?.host ?? null;
  };

  it("names a proxy per port, lower case first, and none where it is empty", () => {
    const env = { HTTP_PROXY: "http://one:1", https_proxy: "two:2", HTTPS_PROXY: "http://three:3" };
    expect(chosen(env, "a.example", 80)).toBe("one");
    expect(chosen(env, "a.example", 443)).toBe("two");
    expect(chosen({ all_proxy: "socks5://[::1]:9" }, "a.example", 22)).toBe("::1");
    expect(upstreamFromEnvironment({ HTTP_PROXY: "", NO_PROXY: "x" })).toBeNull();
  });

  it.each([
    ["a.example", true],
    ["sub.a.example", true],
    ["nota.example", false],
    ["x.dotted.example", true],
    ["only.example", true],
    ["10.1.2.3", true],
    ["10.2.2.3", false],
    ["192.168.0.1", true],
    ["fd00::1", true],
    ["fd00::2", false],
  ])("NO_PROXY: %s goes directly: %s", (host, direct) => {
    const NO_PROXY = "a.example, .dotted.example only.example:443,10.1.0.0/16,192.168.0.1,[fd00::1],,@@";
    expect(chosen({ ALL_PROXY: "http://p:1", NO_PROXY }, host, 443) === null).toBe(direct);
  });

  it("NO_PROXY=* is all, and a port binds", () => {
    expect(chosen({ ALL_PROXY: "http://p:1", NO_PROXY: "*" }, "a.example", 443)).toBeNull();
    expect(chosen({ ALL_PROXY: "http://p:1", NO_PROXY: "a.example:80" }, "a.example", 443)).toBe("p");
  });

  it.each(["https://p:1", "ftp://p", "http://", "socks4://p"])(
    "%s is an error that does not show the value",
    (value) => {
      const secret = value.replace("//", "//user:hunter2@");
      expect(() => upstreamFromEnvironment({ HTTPS_PROXY: secret })).toThrow(/^HTTPS_PROXY (?!.*hunter2)/);
    },
  );
});
