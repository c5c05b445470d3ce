/** Connections from the host to a port inside the sandbox. */
import { afterEach, expect, it } from "vitest";
import { FrameType } from "./frame.js";
import { FakeGuest, type HostFrame } from "./testing/fake-guest.js";

let guest: FakeGuest;
afterEach(() => guest.end());

const of = (type: number) => (frame: HostFrame) => frame.type === type && frame.channel === 1;

it("asks for the port, and carries bytes both ways with an end each", async () => {
  guest = await FakeGuest.ready();
  const connecting = guest.session.connectTcp(8080);
  const open = await guest.sees(of(FrameType.open));
  expect(JSON.parse(String(open.payload))).toEqual({ kind: "tcp-in", port: 8080 });
  guest.json(FrameType.opened, 1, {});
  const stream = await connecting;
  stream.end("a question");
  await guest.sees(of(FrameType.eof));
  expect(guest.received(1).toString()).toBe("a question");
  guest.data(1, 1, "an ").data(1, 1, "answer").eof(1, 1).json(FrameType.close, 1, {});
  expect(Buffer.concat(await stream.toArray()).toString()).toBe("an answer");
  expect(guest.frames.some(of(FrameType.close))).toBe(false);
});

it.each([
  ["refused", "not_found"],
  ["resource", "resource_exhausted"],
  ["unreachable", "internal"],
])("that the guest answers with %s rejects with %s", async (code, expected) => {
  guest = await FakeGuest.ready();
  const connecting = guest.session.connectTcp(1);
  guest.json(FrameType.failed, 1, { code, message: "no" });
  await expect(connecting).rejects.toMatchObject({ code: expected });
});

it.each([0, 65_536, 1.5, Number.NaN])("to port %s is refused without asking", async (port) => {
  guest = await FakeGuest.ready();
  await expect(guest.session.connectTcp(port)).rejects.toMatchObject({ code: "invalid_argument" });
});

it("that the server resets is cut off", async () => {
  guest = await FakeGuest.ready();
  const connecting = guest.session.connectTcp(80);
  guest.json(FrameType.opened, 1, {});
  const stream = await connecting;
  const cutOff = new Promise((resolve) => stream.once("error", resolve));
  guest.json(FrameType.close, 1, { code: "reset", message: "the connection was reset in the sandbox" });
  expect(await cutOff).toMatchObject({ code: "ECONNRESET" });
});

it("that the host drops is closed, and the guest's last word awaited", async () => {
  guest = await FakeGuest.ready();
  const connecting = guest.session.connectTcp(80);
  guest.json(FrameType.opened, 1, {});
  (await connecting).destroy();
  await guest.sees(of(FrameType.close));
  guest.data(1, 1, "late").json(FrameType.close, 1, {});
  const again = guest.session.connectTcp(80);
  guest.json(FrameType.opened, 3, {});
  await again;
  expect(guest.session.failure).toBeNull();
});
