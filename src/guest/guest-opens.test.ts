/** Connections and lookups that the guest asks for: what the gateway is asked, and what the guest gets to see. */
import type { Duplex } from "node:stream";
import { afterEach, describe, expect, it } from "vitest";
import { deferred } from "../core/deferred.js";
import type { EgressPort, NameFamilies, OutgoingRefusal, OutgoingTarget } from "../core/egress.js";
import { FrameType, GUEST_CHANNEL_WINDOW_BYTES, MAX_GUEST_CHANNELS } from "./frame.js";
import { FakeGuest, type HostFrame } from "./testing/fake-guest.js";

const NAMED = { kind: "tcp-out", name: "example.com", port: 443 };

/** A gateway that notes what it is asked, and answers when the test says. */
class ScriptedEgress implements EgressPort {
  readonly targets: OutgoingTarget[] = [];
  readonly names: string[] = [];
  readonly streams: Duplex[] = [];
  answer: OutgoingRefusal | null = null;
  families: NameFamilies | OutgoingRefusal = { ipv4: true, ipv6: false };
  held: Promise<unknown> | null = null;

  async lookup(name: string): Promise<NameFamilies | OutgoingRefusal> {
    this.names.push(name);
    await this.held;
    return this.families;
  }

  async connect(target: OutgoingTarget, stream: Duplex): Promise<OutgoingRefusal | null> {
    this.targets.push(target);
    this.streams.push(stream);
    await this.held;
    return this.answer;
  }
}

let guest: FakeGuest;
let egress: ScriptedEgress;
afterEach(() => guest.end());

async function ready(): Promise<void> {
  egress = new ScriptedEgress();
  guest = await FakeGuest.ready({ egress });
}

const of = (type: number, channel: number) => (frame: HostFrame) => frame.type === type && frame.channel === channel;
const bodyOf = (frame: HostFrame): unknown => JSON.parse(String(frame.payload));

/** The guest opens channel 2, and the gateway takes it. */
async function connected(): Promise<Duplex> {
  await ready();
  guest.json(FrameType.open, 2, NAMED);
  await guest.sees(of(FrameType.opened, 2));
  const [stream] = egress.streams;
  if (!stream) throw new Error("the gateway was not asked");
  return stream;
}

async function expectViolation(reason: string): Promise<void> {
  expect(await guest.session.ended).toMatchObject({ code: "guest_protocol", details: { reason } });
}

describe("a connection out of the sandbox", () => {
  it.each([
    [NAMED, { kind: "name", name: "example.com", port: 443 }],
    [
      { kind: "tcp-out", address: "192.0.2.1", port: 1 },
      { kind: "address", address: "192.0.2.1", port: 1 },
    ],
    [
      { kind: "tcp-out", address: "2001:db8::1", port: 65_535 },
      { kind: "address", address: "2001:db8::1", port: 65_535 },
    ],
    [{ kind: "tcp-out", proxy: true }, { kind: "proxy" }],
  ])("%j is put to the gateway", async (open, target) => {
    await ready();
    guest.json(FrameType.open, 2, open);
    expect(bodyOf(await guest.sees(of(FrameType.opened, 2)))).toEqual({});
    expect(egress.targets).toEqual([target]);
  });

  it.each([
    { kind: "tcp-out", name: "", port: 443 },
    { kind: "tcp-out", name: "a".repeat(254), port: 443 },
    { kind: "tcp-out", name: "example.com", port: 0 },
    { kind: "tcp-out", name: "example.com", port: 65_536 },
    { kind: "tcp-out", name: "example.com", port: "443" },
    { kind: "tcp-out", name: "example.com" },
    { kind: "tcp-out", address: "example.com", port: 443 },
    { kind: "tcp-out", address: "fe80::1%lo", port: 443 },
    { kind: "tcp-out", port: 443 },
    { kind: "tcp-out", proxy: "yes" },
    { kind: "lookup" },
    { kind: "lookup", name: "" },
  ])("%j is a violation", async (open) => {
    await ready();
    guest.json(FrameType.open, 2, open);
    await expectViolation("bad-member");
  });

  it.each([NAMED, { kind: "lookup", name: "example.com" }])("without a gateway %j is denied", async (open) => {
    guest = await FakeGuest.ready();
    guest.json(FrameType.open, 2, open);
    expect(bodyOf(await guest.sees(of(FrameType.failed, 2)))).toMatchObject({ code: "denied" });
  });

  it("that the gateway refuses is failed with its words, and what came ahead is dropped", async () => {
    await ready();
    egress.answer = { code: "denied", message: "no rule allows it" };
    guest.json(FrameType.open, 2, NAMED).data(2, 1, "ahead");
    expect(bodyOf(await guest.sees(of(FrameType.failed, 2)))).toEqual(egress.answer);
    guest.data(2, 1, "late").eof(2, 1).json(FrameType.open, 4, NAMED);
    await guest.sees(of(FrameType.failed, 4));
    expect(egress.streams[0]?.destroyed).toBe(true);
  });

  it("that the gateway fails to answer is failed, and nothing else ends", async () => {
    egress = new ScriptedEgress();
    egress.connect = () => Promise.reject(new Error("a fault"));
    guest = await FakeGuest.ready({ egress });
    guest.json(FrameType.open, 2, NAMED);
    expect(bodyOf(await guest.sees(of(FrameType.failed, 2)))).toMatchObject({ code: "failed" });
    expect(guest.session.failure).toBeNull();
  });

  it("carries bytes both ways, and ends each way by itself", async () => {
    const stream = await connected();
    guest.data(2, 1, "from ").data(2, 1, "inside").eof(2, 1);
    let got = "";
    stream.on("data", (chunk) => {
      got += chunk;
    });
    await new Promise((resolve) => stream.once("end", resolve));
    expect(got).toBe("from inside");
    stream.write("from ");
    stream.end("outside");
    await guest.sees(of(FrameType.eof, 2));
    expect(guest.received(2).toString()).toBe("from outside");
    expect(bodyOf(await guest.sees(of(FrameType.close, 2)))).toEqual({});
  });

  it("is opened before the first byte goes in, however early the gateway writes", async () => {
    await ready();
    egress.held = new Promise(() => {});
    guest.json(FrameType.open, 2, NAMED).data(2, 1, "early");
    await until(() => egress.streams.length === 1);
    egress.streams[0]?.end("at once");
    await guest.sees(of(FrameType.eof, 2));
    const types = guest.frames.filter((frame) => frame.channel === 2).map((frame) => frame.type);
    expect(types).toEqual([FrameType.opened, FrameType.data, FrameType.eof]);
  });

  it("that the gateway cuts off is closed with a code", async () => {
    const stream = await connected();
    stream.destroy();
    expect(bodyOf(await guest.sees(of(FrameType.close, 2)))).toMatchObject({ code: "reset" });
  });

  it("that the gateway lets go of after its own last byte is closed in order", async () => {
    const stream = await connected();
    stream.end("all there is", () => stream.destroy());
    expect(bodyOf(await guest.sees(of(FrameType.close, 2)))).toEqual({});
    expect(guest.received(2).toString()).toBe("all there is");
    expect(guest.frames.some(of(FrameType.eof, 2))).toBe(true);
  });

  it("that fails for the gateway after its own last byte is closed with a code", async () => {
    const stream = await connected();
    stream.end("all there is", () => stream.destroy(new Error("the peer reset it")));
    expect(bodyOf(await guest.sees(of(FrameType.close, 2)))).toMatchObject({ code: "reset" });
  });

  it("that the guest gives up is cut off for the gateway, and still gets its last word", async () => {
    const stream = await connected();
    const cutOff = new Promise((resolve) => stream.once("error", resolve));
    guest.json(FrameType.close, 2, { code: "reset", message: "gone" });
    expect(await cutOff).toMatchObject({ code: "ECONNRESET" });
    expect(bodyOf(await guest.sees(of(FrameType.close, 2)))).toEqual({});
  });

  it("that the guest gives up before the answer is failed", async () => {
    await ready();
    const held = deferred<void>();
    egress.held = held.promise;
    guest.json(FrameType.open, 2, NAMED).json(FrameType.close, 2, {});
    await guest.sees(of(FrameType.failed, 2));
    expect(egress.streams[0]?.destroyed).toBe(true);
    held.resolve();
    guest.json(FrameType.open, 4, NAMED);
    await guest.sees(of(FrameType.opened, 4));
    expect(guest.frames.filter((frame) => frame.channel === 2)).toHaveLength(1);
  });

  it("is cut off when the session ends", async () => {
    const stream = await connected();
    const cutOff = new Promise((resolve) => stream.once("error", resolve));
    guest.end();
    expect(await cutOff).toMatchObject({ code: "sandbox_died" });
  });

  it("is sent no more than the guest granted, and the rest when it grants more", async () => {
    const stream = await connected();
    stream.end(Buffer.alloc(200_000, 1));
    await until(() => guest.dataBytes === GUEST_CHANNEL_WINDOW_BYTES);
    guest.credit(2, 0, 200_000);
    await guest.sees(of(FrameType.eof, 2));
    expect(guest.dataBytes).toBe(200_000);
  });

  it("does not grant what the gateway has not read", async () => {
    const stream = await connected();
    guest.data(2, 1, Buffer.alloc(GUEST_CHANNEL_WINDOW_BYTES));
    guest.json(FrameType.open, 4, NAMED);
    await guest.sees(of(FrameType.opened, 4));
    expect(guest.frames.some(of(FrameType.credit, 2))).toBe(false);
    stream.resume();
    await guest.sees(of(FrameType.credit, 2));
  });

  it("that is read as fast as it comes may send further ahead, up to the session's window", async () => {
    const stream = await connected();
    stream.resume();
    let granted = GUEST_CHANNEL_WINDOW_BYTES;
    let seen = 0;
    let sent = 0;
    for (let round = 0; round < 100; round++) {
      const part = Math.min(granted - sent, 100_000);
      sent += part;
      guest.data(2, 1, Buffer.alloc(part));
      await until(() => guest.frames.filter(of(FrameType.credit, 2)).length > seen || granted > sent);
      const credits = guest.frames.filter(of(FrameType.credit, 2));
      for (const credit of credits.slice(seen)) granted += credit.payload.readUInt32LE(0);
      seen = credits.length;
    }
    expect(granted - sent).toBeGreaterThan(4 * GUEST_CHANNEL_WINDOW_BYTES);
    expect(granted - sent).toBeLessThanOrEqual(1_048_576);
  });
});

describe("a guest that breaks the rules on a channel of its own", () => {
  it.each([
    ["more bytes than its window", "over-credit", () => guest.data(2, 1, Buffer.alloc(GUEST_CHANNEL_WINDOW_BYTES + 1))],
    ["bytes on the host's stream", "wrong-stream", () => guest.data(2, 0, "x")],
    ["bytes on a third stream", "wrong-stream", () => guest.data(2, 2, "x")],
    ["the end of the host's stream", "wrong-stream", () => guest.eof(2, 0)],
    ["credit for its own stream", "wrong-stream", () => guest.credit(2, 1, 1)],
    ["bytes after their end", "data-after-eof", () => guest.eof(2, 1).data(2, 1, "x")],
    ["a second end", "second-eof", () => guest.eof(2, 1).eof(2, 1)],
    ["an answer to itself", "unknown-channel", () => guest.json(FrameType.opened, 2, {})],
    ["a frame on a channel that it never opened", "unknown-channel", () => guest.data(4, 1, "x")],
    ["too much credit", "bad-credit", () => guest.credit(2, 0, 2 ** 31 - 1)],
  ])("%s", async (_name, reason, breach) => {
    await connected();
    breach();
    await expectViolation(reason);
  });

  it("credit before the answer", async () => {
    await ready();
    egress.held = new Promise(() => {});
    guest.json(FrameType.open, 2, NAMED).credit(2, 0, 1);
    await expectViolation("before-opened");
  });

  it("streams on a lookup", async () => {
    await ready();
    egress.held = new Promise(() => {});
    guest.json(FrameType.open, 2, { kind: "lookup", name: "example.com" }).data(2, 1, "x");
    await expectViolation("wrong-stream");
  });

  it("more channels at once than there may be", async () => {
    await ready();
    egress.held = new Promise(() => {});
    for (let count = 1; count <= MAX_GUEST_CHANNELS; count++) guest.json(FrameType.open, 2 * count, NAMED);
    await until(() => egress.streams.length === MAX_GUEST_CHANNELS);
    expect(guest.session.failure).toBeNull();
    guest.json(FrameType.open, 2 * MAX_GUEST_CHANNELS + 2, NAMED);
    await expectViolation("too-many-channels");
    expect(egress.streams.every((stream) => stream.destroyed)).toBe(true);
  });
});

describe("a lazy view", () => {
  it("is answered by whoever shows it, once", async () => {
    const shown: Duplex[] = [];
    guest = await FakeGuest.ready({ serveView: (stream) => shown.push(stream) });
    guest.json(FrameType.open, 2, { kind: "view" }).data(2, 1, "asked");
    await guest.sees(of(FrameType.opened, 2));
    await until(() => shown[0]?.readableLength === 5);
    guest.json(FrameType.open, 4, { kind: "view" });
    expect(bodyOf(await guest.sees(of(FrameType.failed, 4)))).toMatchObject({ code: "denied" });
    expect(shown).toHaveLength(1);
  });

  it("is denied where nothing is shown", async () => {
    await ready();
    guest.json(FrameType.open, 2, { kind: "view" });
    expect(bodyOf(await guest.sees(of(FrameType.failed, 2)))).toMatchObject({ code: "denied" });
  });
});

describe("a lookup", () => {
  it("is answered with the families that the gateway names, and closed", async () => {
    await ready();
    guest.json(FrameType.open, 2, { kind: "lookup", name: "example.com" });
    expect(bodyOf(await guest.sees(of(FrameType.opened, 2)))).toEqual({ ipv4: true, ipv6: false });
    expect(bodyOf(await guest.sees(of(FrameType.close, 2)))).toEqual({});
    expect(egress.names).toEqual(["example.com"]);
  });

  it("that is refused is failed with the gateway's words", async () => {
    await ready();
    egress.families = { code: "not_found", message: "no such name" };
    guest.json(FrameType.open, 2, { kind: "lookup", name: "nowhere.example" });
    expect(bodyOf(await guest.sees(of(FrameType.failed, 2)))).toEqual(egress.families);
  });
});

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve));
}
