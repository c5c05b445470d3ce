import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { networkInterfaces } from "node:os";
import { expect, it } from "vitest";
import { markPort } from "../../core/own-ports.js";
import { isGateway, isLoopback } from "./tcp-peer.js";

it.each(["127.0.0.1", "127.255.0.9", "::ffff:127.0.0.1", "::1"])("%s is loopback", (address) =>
  expect(isLoopback(address)).toBe(true),
);

it.each([undefined, "", "128.0.0.1", "1.127.0.0", "10.127.0.1", "::", "::11", "x::ffff:127.0.0.1", "127x0.0.1"])(
  "%s is not loopback",
  (address) => expect(isLoopback(address)).toBe(false),
);

/** As far as it is looked at. */
const peer = (remoteAddress?: string, remotePort?: number, localAddress?: string) =>
  ({ remoteAddress, remotePort, localAddress }) as Socket;

it("a port that a gateway has dialled from is a gateway while it is marked, at an address of this machine", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  const own = Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map(({ address }) => address));
  expect(await isGateway(peer("127.0.0.1", port))).toBe(false);
  const mark = await markPort("dialled", port);
  try {
    expect(await isGateway(peer("127.0.0.1", port))).toBe(true);
    expect(await isGateway(peer("::1", port))).toBe(true);
    for (const address of own) expect(await isGateway(peer(address, port))).toBe(true);
    expect(await isGateway(peer("::ffff:127.0.0.1%lo", port))).toBe(true);
    // The same number at another machine, unless that is where the connection was accepted.
    expect(await isGateway(peer("192.0.2.7", port, "127.0.0.1"))).toBe(false);
    expect(await isGateway(peer("192.0.2.7", port, "192.0.2.7"))).toBe(true);
    expect(await isGateway(peer("127.0.0.1", port + 1))).toBe(false);
    expect(await isGateway(peer(undefined, port))).toBe(false);
    expect(await isGateway(peer("127.0.0.1"))).toBe(false);
  } finally {
    mark.release();
    server.close();
  }
  expect(await isGateway(peer("127.0.0.1", port))).toBe(false);
});

it("a listener's mark is none of a gateway", async () => {
  const mark = await markPort("listener", 45_123);
  try {
    expect(await isGateway(peer("127.0.0.1", 45_123))).toBe(false);
  } finally {
    mark.release();
  }
});

it("a connection that is closed has no peer", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  await new Promise((resolve) => socket.once("connect", resolve));
  socket.destroy();
  server.close();
  await new Promise((resolve) => socket.once("close", resolve));
  expect(await isGateway(socket)).toBe(false);
});
