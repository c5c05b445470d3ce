import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import { parseAddress } from "../core/address/address.js";
import { type Dial, dialFirst, dialTcp, interleave } from "./dial.js";
import { createGateway } from "./gateway.js";
import { NameCache } from "./names/cache.js";
import { systemResolver } from "./names/system.js";
import { portOf, readAll } from "./testing/world.js";

const addresses = (...texts: string[]) => texts.flatMap((text) => parseAddress(text) ?? []);
const forever = () => new AbortController().signal;
const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

async function loopback(handler: (socket: Socket) => void): Promise<number> {
  const server = createServer({ allowHalfOpen: true }, handler);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  ends.push(() => server.close());
  return portOf(server);
}

describe("the order of addresses", () => {
  it("alternates between families, beginning with the first", () => {
    const order = interleave(addresses("2600::1", "2600::2", "2600::3", "8.8.8.8")).map((one) => one.text);
    expect(order).toEqual(["2600::1", "8.8.8.8", "2600::2", "2600::3"]);
    expect(interleave(addresses("8.8.8.8", "2600::1", "2600::2")).map((one) => one.family)).toEqual([4, 6, 6]);
  });

  it("keeps each address once", () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.ipV4(), fc.ipV6())), (texts) => {
        const all = addresses(...texts);
        expect([...interleave(all)].map((one) => one.text).sort()).toEqual(all.map((one) => one.text).sort());
      }),
    );
  });
});

describe("a race of dials", () => {
  it("ends those that lose, also one that connects after the race", async () => {
    const port = await loopback(() => {});
    const late: Socket[] = [];
    let lose = () => {};
    const dial: Dial = async (target) => {
      if (target.address === "8.8.4.4") return dialTcp({ ...target, address: "127.0.0.1", port });
      const socket = await dialTcp({ ...target, address: "127.0.0.1", family: 4, port, signal: forever() });
      late.push(socket);
      await new Promise<void>((resolve) => {
        lose = resolve;
      });
      return socket;
    };
    const { socket, address } = await dialFirst(addresses("8.8.8.8", "8.8.4.4"), port, dial, forever());
    expect(address.text).toBe("8.8.4.4");
    lose();
    const [loser] = late;
    if (loser !== undefined && !loser.closed) await once(loser, "close");
    expect(loser?.destroyed).toBe(true);
    socket.destroy();
  });

  it("stops when nobody waits any more", async () => {
    const gone = new AbortController();
    const ended: string[] = [];
    const dial: Dial = ({ address, signal }) =>
      new Promise((_, reject) =>
        signal.addEventListener("abort", () => {
          ended.push(address);
          reject(signal.reason);
        }),
      );
    const race = dialFirst(addresses("8.8.8.8"), 80, dial, gone.signal);
    gone.abort(new Error("gone"));
    await expect(race).rejects.toThrow("gone");
    expect(ended).toEqual(["8.8.8.8"]);
  });
});

describe("names", () => {
  const never = new AbortController().signal;

  it("are resolved as the system does it, the hosts file among it", async () => {
    const { addresses: found } = await systemResolver()("localhost", never);
    expect(found.length).toBeGreaterThan(0);
    expect(found.filter((address) => address !== "127.0.0.1" && address !== "::1")).toEqual([]);
  });

  it("are asked for once at a time and remembered for their time; failures are not remembered", async () => {
    let asked = 0;
    const ask = async (name: string) => {
      asked++;
      if (name === "broken.example") throw new Error("no answer");
      return {
        addresses: ["8.8.8.8", "8.8.8.8", "nonsense", "fe80::1%eth0"],
        ttlMs: name === "short.example" ? 0 : 60_000,
      };
    };
    const cache = new NameCache(ask, never);
    const [one, two] = await Promise.all([cache.addresses("long.example"), cache.addresses("long.example")]);
    await cache.addresses("long.example");
    expect([asked, one, two]).toEqual([1, addresses("8.8.8.8"), addresses("8.8.8.8")]);
    await cache.addresses("short.example");
    await cache.addresses("short.example");
    expect(asked).toBe(3);
    for (let i = 0; i < 2; i++) await expect(cache.addresses("broken.example")).rejects.toThrow("no answer");
    expect(asked).toBe(5);
  });
});

it("a gateway with nothing injected dials and resolves really, and guards the host it runs on", async () => {
  const port = await loopback((socket) => socket.end("from loopback"));
  const make = (cidr: string) =>
    createGateway({
      sandbox: "x",
      policy: () => ({ egress: "on", allow: [{ cidr }], deny: [] }),
      onDecision: () => {},
    });
  const accepted: Promise<Socket[]> = new Promise((resolve) => {
    loopback((socket) => resolve([socket])).then((clientPort) =>
      dialTcp({ address: "127.0.0.1", family: 4, port: clientPort, signal: forever() }).then((inside) => {
        ends.push(() => inside.destroy());
        received = readAll(inside);
      }),
    );
  });
  let received = Promise.resolve("");
  const [outside] = await accepted;
  if (outside === undefined) throw new Error("no client");
  const target = { kind: "address", address: "127.0.0.1", port } as const;
  expect(await make("10.0.0.0/8").connect(target, outside)).toMatchObject({ code: "denied" });
  expect(await make("127.0.0.1/32").connect(target, outside)).toBeNull();
  expect(await received).toBe("from loopback");
  outside.destroy();
});
