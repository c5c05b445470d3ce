import { once } from "node:events";
import { createServer, type Server } from "node:net";
import { afterEach, beforeEach, expect, it } from "vitest";
import { isMarked, listenMarked } from "../core/own-ports.js";
import { dialTcp } from "./dial.js";
import { allowlist, readAll, World } from "./testing/world.js";

let world: World;
let ours: Server;
let port: number;
beforeEach(async () => {
  world = new World();
  ours = createServer((socket) => {
    // The gateway hangs up at once.
    socket.on("error", () => {});
    socket.end("ours");
  });
  port = await listenMarked(ours, { host: "127.0.0.1", port: 0 });
});
afterEach(async () => {
  await world.end();
  ours.close();
});

const loopback = [{ domain: "host.example" }, { cidr: "127.0.0.0/8" }, { cidr: "0.0.0.0/8" }] as const;
const open = () => world.gateway(allowlist(...loopback), { dial: dialTcp });

it.each(["127.0.0.1", "0.0.0.0"])("a listener of ours is not reached as %s", async (address) => {
  expect(await world.refusal(open(), { kind: "address", address, port })).toEqual({
    code: "denied",
    message: `${address}:${port} is not allowed: a port on which agentkernel itself listens`,
  });
});

it("nor by a name, whose address the sandbox is not told", async () => {
  world.names.set("host.example", ["127.0.0.1"]);
  const { code, message } = await world.refusal(open(), { kind: "name", name: "host.example", port });
  expect([code, message]).toEqual([
    "denied",
    `host.example:${port} is not allowed: it resolves to an address that is not allowed`,
  ]);
  expect(world.decisions.at(-1)?.rule).toContain("agentkernel itself listens");
});

it("what others listen on is, from a port that is marked until the connection ends", async () => {
  const others = createServer({ allowHalfOpen: true, noDelay: true });
  await new Promise<void>((resolve) => others.listen(0, "127.0.0.1", resolve));
  const asked = new Promise<number>((resolve) => {
    others.once("connection", async (socket) => {
      const { remotePort = 0 } = socket;
      await once(socket.resume(), "end");
      socket.end(String(await isMarked("dialled", remotePort)));
      resolve(remotePort);
    });
  });
  const { port: theirs } = others.address() as { port: number };
  const client = await world.client(open(), { kind: "address", address: "127.0.0.1", port: theirs });
  client.end("hello");
  expect(await readAll(client)).toBe("true");
  const used = await asked;
  others.close();
  await expect.poll(() => isMarked("dialled", used), { timeout: 10_000 }).toBe(false);
});
