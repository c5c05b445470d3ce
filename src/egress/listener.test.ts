import { Buffer } from "node:buffer";
import { connect } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Listener, startListener } from "./listener.js";
import { allowlist, PUBLIC, readAll, World } from "./testing/world.js";

let world: World;
let listener: Listener;
beforeEach(async () => {
  world = new World();
  world.names.set("a.example", [PUBLIC]);
  await world.serve(PUBLIC, 7, (socket) => socket.pipe(socket));
  listener = await startListener({
    sandbox: "other-tool",
    policy: () => allowlist({ domain: "a.example" }),
    dial: world.dial,
    resolve: world.resolve,
    onDecision: (decision) => world.decisions.push(decision),
  });
});
afterEach(async () => {
  await listener.close();
  await world.end();
});

async function say(bytes: string | Buffer): Promise<string> {
  const socket = connect({ port: listener.port, host: listener.host, allowHalfOpen: true });
  socket.end(bytes);
  return readAll(socket);
}

describe("the listener", () => {
  it("speaks HTTP and SOCKS on one port, under its policy", async () => {
    expect(await say("CONNECT a.example:7 HTTP/1.1\r\n\r\n\0hello")).toBe(
      "HTTP/1.1 200 Connection Established\r\n\r\n\0hello",
    );
    const socks = Buffer.concat([
      Buffer.from([5, 1, 0, 5, 1, 0, 3, 9]),
      Buffer.from("a.example"),
      Buffer.from([0, 7, 0, 1]),
    ]);
    expect(Buffer.from(await say(socks), "latin1").toString("hex")).toBe("050005000001000000000000".concat("0001"));
    expect(await say("CONNECT b.example:7 HTTP/1.1\r\n\r\n")).toMatch(/^HTTP\/1\.1 403 /);
    expect(world.decisions.map((one) => [one.sandbox, one.via])).toContainEqual(["other-tool", "listener"]);
  });

  it("is for this machine only", async () => {
    const options = { sandbox: "x", policy: () => allowlist(), onDecision: () => {} };
    for (const host of ["0.0.0.0", "::", "192.168.0.1", "localhost", ""]) {
      await expect(startListener({ ...options, host })).rejects.toMatchObject({ code: "invalid_argument" });
    }
  });

  it("says which port is taken", async () => {
    const options = { sandbox: "x", policy: () => allowlist(), onDecision: () => {} };
    await expect(startListener({ ...options, port: listener.port })).rejects.toMatchObject({
      code: "resource_exhausted",
    });
  });
});
