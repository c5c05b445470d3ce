import { Buffer } from "node:buffer";
import { once } from "node:events";
import type { Socket } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { deferred } from "../core/deferred.js";
import type { NetworkRules } from "../core/policy.js";
import type { Dial } from "./dial.js";
import { allowlist, everything, nothing, PUBLIC, PUBLIC_6, readAll, World } from "./testing/world.js";

let world: World;
beforeEach(() => {
  world = new World();
});
afterEach(() => world.end());

const named = (name: string, port = 7) => ({ kind: "name", name, port }) as const;
const addressed = (address: string, port = 7) => ({ kind: "address", address, port }) as const;

async function echoAt(address: string, port = 7): Promise<void> {
  await world.serve(address, port, (socket) => socket.pipe(socket));
}

async function speaks(gateway: ReturnType<World["gateway"]>, target: Parameters<World["client"]>[1]): Promise<string> {
  const client = await world.client(gateway, target);
  client.end("\0hello");
  return readAll(client);
}

describe("the three modes", () => {
  beforeEach(async () => {
    world.names.set("example.com", [PUBLIC]);
    await echoAt(PUBLIC);
  });

  it("off refuses names, addresses and lookups, and resolves nothing", async () => {
    const gateway = world.gateway(nothing);
    expect(await world.refusal(gateway, named("example.com"))).toEqual({
      code: "denied",
      message: "example.com:7 is not allowed: egress is off",
    });
    expect((await world.refusal(gateway, addressed(PUBLIC))).code).toBe("denied");
    expect(await gateway.lookup("example.com")).toMatchObject({ code: "denied" });
    expect([world.resolved, world.dialled]).toEqual([[], []]);
  });

  it("on reaches every public destination", async () => {
    const gateway = world.gateway(everything);
    expect(await speaks(gateway, named("EXAMPLE.com."))).toBe("\0hello");
    expect(await speaks(gateway, addressed(PUBLIC))).toBe("\0hello");
    expect(await gateway.lookup("example.com")).toEqual({ ipv4: true, ipv6: false });
  });

  it("allowlist reaches what a rule names and nothing else", async () => {
    world.names.set("other.example", [PUBLIC]);
    const gateway = world.gateway(allowlist({ domain: "example.com" }));
    expect(await speaks(gateway, named("example.com"))).toBe("\0hello");
    expect((await world.refusal(gateway, named("other.example"))).code).toBe("denied");
    expect((await world.refusal(gateway, addressed(PUBLIC))).code).toBe("denied");
    expect(await gateway.lookup("other.example")).toMatchObject({ code: "denied" });
    expect(world.resolved).toEqual(["example.com"]);
  });

  it("a changed policy holds for the next connection, and not for those that are open", async () => {
    let policy: NetworkRules = everything;
    const gateway = world.gateway(() => policy);
    const open = await world.client(gateway, named("example.com"));
    policy = nothing;
    expect((await world.refusal(gateway, named("example.com"))).code).toBe("denied");
    open.end("still");
    expect(await readAll(open)).toBe("still");
  });

  it("a policy that becomes unusable denies everything; one that is so from the start is an error", async () => {
    let policy: NetworkRules = everything;
    const gateway = world.gateway(() => policy);
    policy = allowlist({ domain: "**" });
    expect(await world.refusal(gateway, named("example.com"))).toMatchObject({ code: "denied" });
    expect(() => world.gateway(allowlist({ domain: "**" }))).toThrow(/net\.allow/);
  });
});

describe("N2 the host, its network and metadata", () => {
  const targets = [
    ...["127.0.0.1", "127.1", "2130706433", "0x7f000001", "017700000001", "0177.0.0.1", "0", "localhost"],
    ...["::1", "::ffff:127.0.0.1", "64:ff9b::127.0.0.1", "2002:7f00:1::", "::127.0.0.1"],
    ...["10.0.0.1", "192.168.1.1", "172.16.0.1", "169.254.169.254", "169.254.43518", "2852039166", "0xa9fea9fe"],
    ...["fd00:ec2::254", "100.100.100.200", "168.63.129.16", "metadata.google.internal", "fe80::1", "5.5.5.5"],
    ...["224.0.0.1", "255.255.255.255", "0.0.0.0", "::"],
  ];

  it.each(targets)("%s is denied by name, by address and through the proxy, and never dialled", async (host) => {
    const gateway = world.gateway(everything);
    const proxy = await world.client(gateway, { kind: "proxy" });
    proxy.write(`CONNECT ${host.includes(":") ? `[${host}]` : host}:80 HTTP/1.1\r\n\r\n`);
    expect(await readAll(proxy)).toMatch(/^HTTP\/1\.1 403 /);
    expect((await world.refusal(gateway, named(host))).code).toBe("denied");
    expect((await world.refusal(gateway, addressed(host))).code).toBe("denied");
    expect([world.resolved, world.dialled]).toEqual([[], []]);
  });

  it("is opened by a range that names it, and a name that leads there needs that range", async () => {
    await echoAt("10.1.2.3");
    world.names.set("db.example.com", ["10.1.2.3"]);
    const rule = { domain: "db.example.com" };
    // The log has the address; the sandbox is not told what the host's network looks like.
    const { message } = await world.refusal(world.gateway(allowlist(rule)), named("db.example.com"));
    expect(message).toBe("db.example.com:7 is not allowed: it resolves to an address that is not allowed");
    expect((await world.decision((one) => one.verdict === "denied")).rule).toMatch(/10\.1\.2\.3, not a public/);
    const open = world.gateway(allowlist(rule, { cidr: "10.1.0.0/16" }));
    expect(await speaks(open, named("db.example.com"))).toBe("\0hello");
    expect(await speaks(open, addressed("10.1.2.3"))).toBe("\0hello");
  });
});

describe("N3 names that resolve to what they should not", () => {
  it("are refused when every address is not public, and none is dialled", async () => {
    world.names.set("rebind.example", ["127.0.0.1", "::ffff:10.0.0.1"]);
    const gateway = world.gateway(everything);
    expect((await world.refusal(gateway, named("rebind.example"))).code).toBe("denied");
    expect(await gateway.lookup("rebind.example")).toMatchObject({ code: "denied" });
    expect(world.dialled).toEqual([]);
  });

  it("are checked at each connection, also when they were public a moment ago", async () => {
    await echoAt(PUBLIC);
    await echoAt("169.254.169.254");
    world.names.set("rebind.example", [PUBLIC]);
    const gateway = world.gateway(everything);
    expect(await speaks(gateway, named("rebind.example"))).toBe("\0hello");
    world.names.set("rebind.example", ["169.254.169.254"]);
    expect((await world.refusal(gateway, named("rebind.example"))).code).toBe("denied");
    expect(world.dialled).toEqual([`${PUBLIC} 7`]);
  });

  it("are dialled only at their public addresses, where there are both", async () => {
    await echoAt("10.0.0.1");
    await echoAt(PUBLIC);
    world.names.set("mixed.example", ["10.0.0.1", "fd00:ec2::254", "5.5.5.5", PUBLIC, "64:ff9b::a00:1"]);
    const gateway = world.gateway(everything);
    expect(await speaks(gateway, named("mixed.example"))).toBe("\0hello");
    expect(world.dialled).toEqual([`${PUBLIC} 7`]);
    expect(await gateway.lookup("mixed.example")).toEqual({ ipv4: true, ipv6: false });
  });
});

describe("dialling", () => {
  it("goes on to the next address at once when one refuses, and after a moment when one is silent", async () => {
    await echoAt("93.184.216.36");
    world.silent.add(PUBLIC_6);
    world.names.set("many.example", [PUBLIC_6, "2606:2800::2", PUBLIC, "93.184.216.36"]);
    expect(await speaks(world.gateway(everything), named("many.example"))).toBe("\0hello");
    expect(world.dialled).toEqual([`${PUBLIC_6} 7`, `${PUBLIC} 7`, "2606:2800::2 7", "93.184.216.36 7"]);
  });

  it.each([
    ["nobody.example", "not_found"],
    ["refused.example", "refused"],
    ["silent.example", "timed_out"],
  ])("%s: %s", async (name, code) => {
    world.names.set("refused.example", ["93.184.216.40"]).set("silent.example", [PUBLIC]);
    world.silent.add(PUBLIC);
    const gateway = world.gateway(everything, { limits: { dialMs: 50 } });
    expect((await world.refusal(gateway, named(name))).code).toBe(code);
    expect(gateway.connections).toBe(0);
    expect(world.decisions).toMatchObject([{ verdict: "allowed", failure: code, dialled: null }]);
  });

  it("is given up when the client goes away", async () => {
    world.silent.add(PUBLIC);
    const gateway = world.gateway(everything);
    const { inside, outside } = await world.pair();
    const connecting = gateway.connect(addressed(PUBLIC), outside);
    inside.resetAndDestroy();
    expect(await connecting).toMatchObject({ code: "failed" });
    expect(gateway.connections).toBe(0);
  });
});

describe("carrying", () => {
  it("a half-closed side still receives, in both directions", async () => {
    const got = deferred<string>();
    await world.serve(PUBLIC, 7, (socket) => {
      socket.end("server is done");
      readAll(socket).then(got.resolve);
    });
    const client = await world.client(world.gateway(everything), addressed(PUBLIC));
    expect(await readAll(client)).toBe("server is done");
    client.end("client was still writing");
    const ended = await world.decision((decision) => decision.phase === "ended");
    expect(await got.promise).toBe("client was still writing");
    expect(ended).toMatchObject({ verdict: "allowed", dialled: PUBLIC, bytes: { sent: 24, received: 14 } });
  });

  it("counts a connection while its server takes what a client left behind", async () => {
    const accepted = deferred<Socket>();
    await world.serve(PUBLIC, 7, (socket) => accepted.resolve(socket.end("bye").pause()));
    const dialled = deferred<Socket>();
    const dial: Dial = async (target) => {
      const socket = await world.dial(target);
      // From which something was read: it stays the socket that bytes are carried to.
      await once(socket, "readable");
      dialled.resolve(socket);
      return socket;
    };
    const gateway = world.gateway(everything, { dial, limits: { connections: 1 } });
    const client = await world.client(gateway, addressed(PUBLIC));
    client.resume();
    const server = await dialled.promise;
    // The kernel takes no more, and what waits is too little to hold the client up.
    for (let sent = 0; server.writableLength === 0; ) {
      sent += 4096;
      client.write(Buffer.alloc(4096));
      while (server.bytesWritten < sent) await new Promise(setImmediate);
    }
    client.end();
    await once(client, "close");
    expect((await world.refusal(gateway, addressed(PUBLIC))).code).toBe("limit");
    expect(gateway.connections).toBe(1);
    (await accepted.promise).resume();
    await world.decision((decision) => decision.phase === "ended");
    expect(gateway.connections).toBe(0);
  });

  it("lets a server speak first, also while the client's bytes are looked at", async () => {
    world.names.set("mail.example", [PUBLIC]);
    await world.serve(PUBLIC, 25, (socket) => {
      socket.write("220 ready\r\n");
      socket.once("data", (chunk) => socket.end(`250 ${chunk}`));
    });
    const client = await world.client(world.gateway(allowlist({ domain: "mail.example" })), named("mail.example", 25));
    expect(String(await once(client, "data"))).toBe("220 ready\r\n");
    client.write("EHLO me\r\n");
    expect(await readAll(client)).toBe("250 EHLO me\r\n");
  });

  it("moves 64 MiB unchanged while the reader is slow, holding little", async () => {
    const block = Buffer.alloc(1_048_576, "x");
    let written = 0;
    await world.serve(PUBLIC, 7, (socket) => {
      const more = () => {
        while (written < 64) {
          written++;
          if (!socket.write(block)) return void socket.once("drain", more);
        }
        socket.end();
      };
      more();
    });
    const client = await world.client(world.gateway(everything), addressed(PUBLIC));
    client.pause();
    await world.decision((decision) => decision.phase === "decided");
    // The server fills the buffers between, and must come to a stop there.
    for (let quietTurns = 0, before = -1; quietTurns < 200; before = written) {
      await new Promise((resolve) => setImmediate(resolve));
      quietTurns = written === before ? quietTurns + 1 : 0;
    }
    expect(written).toBeLessThan(48);
    let received = 0;
    for await (const chunk of client) received += (chunk as Buffer).length;
    expect(received).toBe(64 * 1_048_576);
  });

  it("a reset on one side ends the other", async () => {
    const accepted = deferred<Socket>();
    await world.serve(PUBLIC, 7, accepted.resolve);
    const gateway = world.gateway(everything);
    const client = await world.client(gateway, addressed(PUBLIC));
    client.resume();
    (await accepted.promise).resetAndDestroy();
    await expect(once(client, "close")).rejects.toMatchObject({ code: "ECONNRESET" });
    await world.decision((decision) => decision.phase === "ended");
    expect(gateway.connections).toBe(0);
  });

  it("ends a connection on which nothing moves", async () => {
    await world.serve(PUBLIC, 7, () => {});
    const gateway = world.gateway(everything, { limits: { idleMs: 30 } });
    const client = await world.client(gateway, addressed(PUBLIC));
    client.resume();
    await expect(once(client, "close")).rejects.toMatchObject({ code: "ECONNRESET" });
    expect(await world.decision((decision) => decision.phase === "ended")).toMatchObject({ verdict: "allowed" });
  });
});

describe("decisions", () => {
  it("say what was asked, by which rule, and what came of it", async () => {
    world.names.set("example.com", ["10.0.0.1", PUBLIC]);
    await echoAt(PUBLIC);
    const gateway = world.gateway(allowlist({ domain: "example.com", ports: [7] }));
    await speaks(gateway, named("Example.com"));
    await world.decision((decision) => decision.phase === "ended");
    const common = {
      sandbox: "test",
      connection: 1,
      via: "capture",
      host: "example.com",
      port: 7,
      verdict: "allowed",
      rule: "allow domain example.com on port 7",
      resolved: ["10.0.0.1", PUBLIC],
      dialled: PUBLIC,
      upstream: null,
      seen: null,
      failure: null,
      secrets: [],
    };
    expect(world.decisions.map(({ timeMs, ...rest }) => rest)).toEqual([
      { ...common, phase: "decided", bytes: null },
      { ...common, phase: "ended", bytes: { sent: 6, received: 6 } },
    ]);
  });

  it("show a hostile name harmlessly and in bounded length", async () => {
    await world.refusal(world.gateway(everything), named(`\u001b[2J${"a".repeat(9999)}`));
    const [decision] = world.decisions;
    expect(decision?.host).toMatch(/^\\x1b\[2Ja+…$/);
    expect(decision?.host.length).toBeLessThan(400);
  });

  it.each([0, -1, 65_536, 1.5, Number.NaN])("port %s is refused", async (port) => {
    expect((await world.refusal(world.gateway(everything), named("example.com", port))).code).toBe("denied");
    expect(world.resolved).toEqual([]);
  });
});
