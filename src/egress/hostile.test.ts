/** N8: what a sandbox can make the host hold, and that another sandbox does not notice. */
import { Buffer } from "node:buffer";
import { once } from "node:events";
import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Dial } from "./dial.js";
import { Turns } from "./limits.js";
import { allowlist, everything, PUBLIC, readAll, readUntilText, World } from "./testing/world.js";

let world: World;
beforeEach(() => {
  world = new World();
  world.names.set("a.example", [PUBLIC]);
});
afterEach(() => world.end());

const address = { kind: "address", address: PUBLIC, port: 7 } as const;
const named = { kind: "name", name: "a.example", port: 7 } as const;

/** A stream that is no socket, like a channel of the guest's. */
function channel(socket: Socket): Duplex {
  const stream: Duplex = new Duplex({
    allowHalfOpen: true,
    read: () => void socket.resume(),
    write: (chunk, _encoding, done) => void socket.write(chunk, () => done()),
    final: (done) => void socket.end(() => done()),
    destroy: (error, done) => {
      socket.destroy();
      done(error);
    },
  });
  socket.on("data", (chunk: Buffer) => stream.push(chunk) || socket.pause());
  socket.on("end", () => stream.push(null));
  return stream;
}

describe("connections", () => {
  it("of one proxy client are one at a time, however many requests it sends ahead", async () => {
    const COUNT = 50;
    await world.serve(PUBLIC, 80, (socket) => {
      socket.once("data", () => setImmediate(() => socket.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")));
    });
    const dialled: Socket[] = [];
    let most = 0;
    const dial: Dial = async (target) => {
      const socket = await world.dial(target);
      dialled.push(socket);
      most = Math.max(most, dialled.filter(({ destroyed }) => !destroyed).length);
      return socket;
    };
    const client = await world.client(world.gateway(everything, { dial }), { kind: "proxy" });
    const path = (number: number) => `GET http://a.example/${number} HTTP/1.1\r\nHost: a.example\r\n`;
    for (let number = 1; number < COUNT; number++) client.write(`${path(number)}\r\n`);
    client.write(`${path(COUNT)}Connection: close\r\n\r\n`);
    expect((await readAll(client)).match(/HTTP\/1.1 200 OK/g)).toHaveLength(COUNT);
    expect([dialled.length, most]).toEqual([COUNT, 1]);
  });

  it("of a proxy client that sends requests without end are ended", async () => {
    await world.serve(PUBLIC, 80, () => {});
    const client = await world.client(world.gateway(everything), { kind: "proxy" });
    client.write("GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n".repeat(100));
    expect(await readAll(client)).toBe("");
    expect(world.dialled.length).toBeLessThan(2);
  });

  it("over the limit are refused, the others live on, and a place that is free can be taken", async () => {
    await world.serve(PUBLIC, 7, (socket) => socket.pipe(socket));
    const gateway = world.gateway(everything, { limits: { connections: 2 } });
    const [one] = [await world.client(gateway, address), await world.client(gateway, address)];
    expect(await world.refusal(gateway, address)).toMatchObject({ code: "limit" });
    expect(await world.refusal(gateway, { kind: "proxy" })).toMatchObject({ code: "limit" });
    const rule = "max_connections: 2 connections are open already";
    expect(world.decisions.filter(({ verdict }) => verdict === "denied")).toMatchObject([
      { host: PUBLIC, port: 7, rule },
      { host: "127.0.0.1", port: 3128, rule },
    ]);
    one.end("bye");
    expect(await readAll(one)).toBe("bye");
    await world.decision((decision) => decision.phase === "ended");
    await world.client(gateway, address);
  });

  it("1,000 at once from one sandbox all work, and leave nothing", async () => {
    await world.serve(PUBLIC, 7, (socket) => socket.pipe(socket));
    const gateway = world.gateway(everything, { limits: { halfOpenDials: 16 } });
    const neighbour = world.gateway(everything);
    const clients = await Promise.all(Array.from({ length: 1000 }, () => world.client(gateway, address)));
    expect(gateway.connections).toBe(1000);
    const other = await world.client(neighbour, address);
    other.end("still quick");
    expect(await readAll(other)).toBe("still quick");
    const answers = clients.map((client, i) => {
      client.end(`client ${i}`);
      return readAll(client);
    });
    expect(await Promise.all(answers)).toEqual(clients.map((_, i) => `client ${i}`));
    await world.decision(() => world.decisions.filter((one) => one.phase === "ended").length === 1001);
    expect(gateway.connections).toBe(0);
  }, 30_000);

  it("dials wait their turn, and one that is given up gives its turn to nobody twice", async () => {
    const turns = new Turns(1);
    const patient = new AbortController();
    const hasty = new AbortController();
    const first = await turns.take(patient.signal);
    const second = turns.take(hasty.signal);
    const third = turns.take(patient.signal);
    hasty.abort(new Error("no longer"));
    await expect(second).rejects.toThrow("no longer");
    first();
    first();
    const release = await third;
    const fourth = turns.take(hasty.signal).catch(() => "refused");
    release();
    expect(await fourth).toBe("refused");
  });

  it("in a dial that hangs do not stop another sandbox", async () => {
    world.silent.add("93.184.216.99");
    await world.serve(PUBLIC, 7, (socket) => socket.pipe(socket));
    const stuck = world.gateway(everything, { limits: { halfOpenDials: 4, dialMs: 60_000 } });
    const streams = await Promise.all(Array.from({ length: 50 }, () => world.pair()));
    const hanging = streams.map(({ outside }) => stuck.connect({ ...address, address: "93.184.216.99" }, outside));
    const free = await world.client(world.gateway(everything), address);
    free.end("free");
    expect(await readAll(free)).toBe("free");
    expect(world.dialled.filter((one) => one.startsWith("93.184.216.99"))).toHaveLength(4);
    for (const { outside } of streams) outside.destroy();
    await Promise.all(hanging);
    expect(stuck.connections).toBe(0);
  });
});

describe("unfinished heads", () => {
  it("of all connections together stay within what a sandbox may have held", async () => {
    await world.serve(PUBLIC, 7, () => {});
    const limits = { heldBytes: 40_000, handshakeMs: 60_000 };
    const gateway = world.gateway(allowlist({ domain: "a.example" }), { limits });
    const clients = await Promise.all(Array.from({ length: 10 }, () => world.client(gateway, named)));
    for (const client of clients) client.write(`GET / HTTP/1.1\r\nX: ${"x".repeat(10_000)}`);
    const refused = await world.decision((one) => one.verdict === "denied");
    expect(refused.rule).toMatch(/too many unfinished/);
    expect(world.decisions.filter((one) => one.verdict === "denied").length).toBeLessThanOrEqual(clients.length);
  });

  it("a hello in 1-byte segments is refused at its limit in little time", async () => {
    await world.serve(PUBLIC, 7, () => {});
    const gateway = world.gateway(allowlist({ domain: "a.example" }), { limits: { helloBytes: 16_384 } });
    const client = await world.client(gateway, named);
    const records = Buffer.alloc(6 * 20_000);
    for (let i = 0; i < 20_000; i++)
      records.set([22, 3, 1, 0, 1, i === 0 ? 1 : i < 4 ? ([0, 0x3f, 0xf0][i - 1] ?? 0) : 7], i * 6);
    for (let at = 0; at < records.length; at += 1)
      if (!client.write(records.subarray(at, at + 1))) await once(client, "drain");
    expect(await readAll(client)).toBe("\x15\x03\x03\x00\x02\x02\x31");
    expect((await world.decision((one) => one.phase === "ended")).rule).toBe("too large a ClientHello");
  }, 20_000);
});

describe("a stream that is no socket", () => {
  it("is carried and proxied like one", async () => {
    await world.serve(PUBLIC, 7, (socket) => socket.pipe(socket));
    const gateway = world.gateway(everything);
    const plain = await world.pair();
    expect(await gateway.connect(address, channel(plain.outside))).toBeNull();
    plain.inside.end("over a channel");
    expect(await readAll(plain.inside)).toBe("over a channel");
    const proxied = await world.pair();
    await gateway.connect({ kind: "proxy" }, channel(proxied.outside));
    proxied.inside.write(`CONNECT ${PUBLIC}:7 HTTP/1.1\r\n\r\nhello`);
    await readUntilText(proxied.inside, "hello");
    const refused = await world.pair();
    await gateway.connect({ kind: "proxy" }, channel(refused.outside));
    refused.inside.write("GET http://10.0.0.1/ HTTP/1.1\r\nHost: 10.0.0.1\r\n\r\n");
    expect(await readAll(refused.inside)).toMatch(/^HTTP\/1\.1 403 /);
  });

  it("that breaks while it is decided about ends the attempt", async () => {
    world.silent.add(PUBLIC);
    const gateway = world.gateway(everything);
    const stream = channel((await world.pair()).outside);
    const connecting = gateway.connect(address, stream);
    stream.destroy(new Error("the guest is gone"));
    expect(await connecting).toMatchObject({ code: "failed" });
    expect(gateway.connections).toBe(0);
  });
});

it("closing the gateway ends its connections and refuses new ones", async () => {
  await world.serve(PUBLIC, 7, (socket) => socket.pipe(socket));
  const gateway = world.gateway(everything);
  const client = await world.client(gateway, address);
  gateway.close();
  await readAll(client);
  expect(await world.refusal(gateway, address)).toMatchObject({ code: "limit" });
  expect(await gateway.lookup("a.example")).toMatchObject({ code: "limit" });
});
