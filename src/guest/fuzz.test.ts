/** THREATS G1: whatever bytes a guest sends, the host only ever answers with a violation, within bounded memory. */
import { Duplex } from "node:stream";
import { describe, expect, it } from "vitest";
import type { EgressPort } from "../core/egress.js";
import { FrameDecoder } from "./decoder.js";
import { encodeCredit, encodeFrame, encodeJson, FrameType, HEADER_BYTES, MAX_GUEST_JSON_BYTES } from "./frame.js";
import { GuestSession } from "./session.js";
import { EXIT_0, READY } from "./testing/fake-guest.js";
import { RecordingReceiver } from "./testing/recording-receiver.js";
import { StuckSink } from "./testing/sinks.js";
import { GuestViolation } from "./violation.js";

const CHUNKS = 200_000;
const WINDOW = 65_536;

/** mulberry32: small, seeded, good enough to pick bytes. */
function randomOf(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

type Random = ReturnType<typeof randomOf>;

const OPENS = [
  { kind: "tcp-out", name: "example.com", port: 443 },
  { kind: "tcp-out", proxy: true },
  { kind: "lookup", name: "example.com" },
];

/** A frame that is right in itself, on channels that the fuzzed session has or might have. */
function plausibleFrame(random: Random): Buffer {
  const channel = random(12) + 1;
  const stream = random(3) as 0 | 1 | 2;
  const bodies = [
    EXIT_0,
    READY,
    { pid: 3 },
    {},
    { code: "io", message: "m" },
    { kind: "call", exec: 1 },
    { size: 0 },
    ...OPENS,
  ];
  const jsonTypes = [
    FrameType.open,
    FrameType.opened,
    FrameType.opened,
    FrameType.failed,
    FrameType.exit,
    FrameType.close,
  ];
  switch (random(8)) {
    case 0:
    case 1:
      return encodeFrame(
        FrameType.data,
        channel,
        stream,
        Buffer.alloc(random(random(9) === 0 ? 70_000 : 300) + 1, 0x7b),
      );
    case 2:
      return encodeFrame(FrameType.eof, channel, stream);
    case 3:
      return encodeCredit(channel, 0, random(2 ** 31 - 1) + 1);
    case 4:
      return encodeFrame(random(2) === 0 ? FrameType.ping : FrameType.pong, 0, 0, Buffer.alloc(random(65)));
    case 5:
      return encodeJson(FrameType.hello, 0, READY);
    default:
      return encodeJson(jsonTypes[random(6)] ?? FrameType.close, channel, bodies[random(bodies.length)] ?? {});
  }
}

function mutate(bytes: Buffer, random: Random): Buffer {
  switch (random(6)) {
    case 0: {
      const copy = Buffer.from(bytes);
      for (let i = random(4); i >= 0; i--) copy[random(copy.length)] = random(256);
      return copy;
    }
    case 1:
      return bytes.subarray(0, random(bytes.length) + 1);
    case 2:
      return Buffer.from(Array.from({ length: random(64) + 1 }, () => random(256)));
    default:
      return bytes;
  }
}

describe("the decoder under fuzz", () => {
  it(`throws nothing but violations and holds no more than one frame, over ${CHUNKS} chunks`, () => {
    const random = randomOf(1);
    const reasons = new Set<string>();
    let decoder = new FrameDecoder(new RecordingReceiver());
    for (let i = 0; i < CHUNKS; i++) {
      try {
        decoder.push(mutate(plausibleFrame(random), random));
        if (decoder.heldBytes > HEADER_BYTES + MAX_GUEST_JSON_BYTES) expect.unreachable("holds too much");
      } catch (error) {
        if (!(error instanceof GuestViolation)) throw error;
        reasons.add(error.reason);
        decoder = new FrameDecoder(new RecordingReceiver());
      }
    }
    expect([...reasons].sort()).toEqual([
      "bad-channel",
      "bad-credit",
      "bad-direction",
      "bad-json",
      "bad-length",
      "bad-stream",
      "oversize",
      "reserved",
      "unknown-type",
    ]);
  }, 120_000);
});

/** Takes what the host sends and gives what the fuzzer says, without a kernel in between. */
class Wire extends Duplex {
  override _read(): void {}
  override _write(_chunk: Buffer, _encoding: string, done: () => void): void {
    done();
  }
}

/** A session with pipes, a terminal, and file work, none of whose sinks ever takes anything. */
async function busySession(
  wire: Wire,
): Promise<{ session: GuestSession; sinks: StuckSink[]; settled: Promise<unknown> }> {
  // A gateway that takes every connection, sends something, and reads nothing of it.
  const egress: EgressPort = {
    lookup: async () => ({ ipv4: true, ipv6: true }),
    connect: async (_target, stream) => {
      stream.write(Buffer.alloc(1000));
      return null;
    },
  };
  const session = new GuestSession(wire, { windowBytes: WINDOW, egress });
  const request = { argv: ["x"], cwd: "/", env: {}, stdin: true };
  const plain = await session.exec(request);
  const terminal = await session.exec({ ...request, tty: { cols: 1, rows: 1 } });
  plain.writeStdin(Buffer.alloc(100_000));
  const sinks = [new StuckSink(), new StuckSink(), new StuckSink()] as const;
  plain.onOutput(1, sinks[0]);
  plain.onOutput(2, sinks[1]);
  terminal.onOutput(1, sinks[2]);
  const work = [
    session.ready,
    plain.opened,
    plain.exited,
    terminal.exited,
    session.files.list("/"),
    session.files.stat("/"),
    session.files.readFile("/", 1000),
    session.files.writeFile("/", Buffer.from("x")),
  ];
  return { session, sinks: [...sinks], settled: Promise.allSettled([...work, session.ended]) };
}

describe("the session under fuzz", () => {
  it(`ends with violations only, within its window, and leaves nothing pending, over ${CHUNKS} chunks`, async () => {
    const random = randomOf(2);
    const reasons = new Set<string>();
    let chunks = 0;
    let sessions = 0;
    const before = process.memoryUsage().arrayBuffers;
    while (chunks < CHUNKS) {
      const wire = new Wire();
      const { session, sinks, settled } = await busySession(wire);
      if (random(20) > 0) wire.emit("data", encodeJson(FrameType.hello, 0, READY));
      if (random(3) > 0) wire.emit("data", encodeJson(FrameType.opened, 1, { pid: 3 }));
      if (random(3) > 0) wire.emit("data", encodeJson(FrameType.opened, 3, { pid: 4 }));
      for (let i = 0; i < 40 && session.failure === null; i++, chunks++) {
        // Mostly one channel, so that conversations get far before they go wrong.
        const frame = plausibleFrame(random);
        if (frame.readUInt32LE(4) > 3 && random(3) > 0) frame.writeUInt32LE(1 + 2 * random(2), 4);
        wire.emit("data", random(8) === 0 ? mutate(frame, random) : frame);
      }
      for (const sink of sinks) if (sink.offeredBytes > WINDOW) expect.unreachable("more than the window");
      const { failure } = session;
      if (failure !== null && !(failure instanceof GuestViolation)) throw failure;
      if (failure) reasons.add(failure.reason);
      session.destroy();
      await settled;
      // A destroyed stream lets go of its buffers in the next turn; awaiting promises alone never gets there.
      await new Promise((resolve) => setImmediate(resolve));
      if (++sessions % 500 === 0) expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(64 * 2 ** 20);
      chunks++;
    }
    for (const reason of [
      "before-hello",
      "second-hello",
      "bad-member",
      "before-opened",
      "second-answer",
      "wrong-stream",
    ])
      expect(reasons).toContain(reason);
    for (const reason of ["over-credit", "data-after-eof", "unknown-channel", "after-terminal", "wrong-terminal"])
      expect(reasons).toContain(reason);
  }, 240_000);
});
