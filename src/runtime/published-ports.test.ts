import { connect } from "node:net";
import { Duplex } from "node:stream";
import { expect, it } from "vitest";
import { closePorts, openPorts } from "./published-ports.js";

it("a client that is gone before the sandbox answers leaves no connection inside", async () => {
  let answer: (inside: Duplex) => void = () => {};
  let isAsked: () => void = () => {};
  const asked = new Promise<void>((resolve) => {
    isAsked = resolve;
  });
  const ports = await openPorts([{ address: "127.0.0.1", hostPort: 0, guestPort: 80 }], () => {
    isAsked();
    return new Promise((resolve) => {
      answer = resolve;
    });
  });
  try {
    const [port] = ports;
    const client = connect(port?.hostPort ?? 0, "127.0.0.1");
    client.on("error", () => {});
    await asked;
    client.resetAndDestroy();
    // All connections of the port have ended when it is closed, and two turns later everybody was told.
    await closePorts(ports);
    for (const _turn of [1, 2]) await new Promise((resolve) => setImmediate(resolve));
    const inside = new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() });
    const closed = new Promise<void>((resolve) => inside.once("close", () => resolve()));
    answer(inside);
    await closed;
    expect(inside.destroyed).toBe(true);
  } finally {
    await closePorts(ports);
  }
});
