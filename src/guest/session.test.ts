import { afterEach, describe, expect, it } from "vitest";
import type { AgentKernelError } from "../core/errors.js";
import type { ExecRequest } from "../core/exec.js";
import type { GuestExec } from "./exec.js";
import { FrameType } from "./frame.js";
import { MAX_WRITES_IN_FLIGHT } from "./inbound-stream.js";
import { connectedPair, EXIT_0, FakeGuest, type HostFrame, READY } from "./testing/fake-guest.js";
import { CollectingSink, StuckSink } from "./testing/sinks.js";

const REQUEST: ExecRequest = { argv: ["cat"], cwd: "/w", env: { A: "b" }, user: "1:2", stdin: true };
const WINDOW = 65_536;

let guest: FakeGuest;
afterEach(() => guest.end());

const jsonOf = (frame: HostFrame) => JSON.parse(String(frame.payload));

async function started(request: ExecRequest = REQUEST): Promise<GuestExec> {
  guest = await FakeGuest.ready({ windowBytes: WINDOW });
  const exec = await guest.session.exec(request);
  guest.json(FrameType.opened, 1, { pid: 7 });
  await exec.opened;
  return exec;
}

/** A frame of the host's that can only come after everything sent before it was handled. */
async function roundTrip(): Promise<void> {
  const mark = Buffer.from(String(Math.random()));
  guest.raw(Buffer.concat([Buffer.from([mark.length, 0, 0, 0, 0, 0, 0, 0, FrameType.ping, 0, 0, 0]), mark]));
  await guest.sees((frame) => frame.type === FrameType.pong && frame.payload.equals(mark));
}

describe("opening", () => {
  it("sends HELLO, OPEN and input in one write, before the guest has said anything", async () => {
    const { hostEnd, guestEnd } = await connectedPair();
    guest = new FakeGuest(hostEnd, guestEnd, { windowBytes: 131_072 });
    const exec = await guest.session.exec(REQUEST);
    exec.writeStdin(Buffer.from("in"));
    exec.endStdin();
    const first = await new Promise<Buffer>((resolve) => guest.socket.once("data", resolve));
    await guest.sees((frame) => frame.type === FrameType.eof);
    expect(guest.frames.map((frame) => frame.type)).toEqual([
      FrameType.hello,
      FrameType.open,
      FrameType.data,
      FrameType.eof,
    ]);
    expect(first.length).toBe(guest.frames.reduce((sum, frame) => sum + 12 + frame.payload.length, 0));
    expect(guest.frames.slice(0, 2).map(jsonOf)).toEqual([
      { protocol: 1, window: 131_072 },
      { kind: "exec", ...REQUEST },
    ]);
  });

  it("gives odd ids that grow", async () => {
    guest = await FakeGuest.ready();
    for (let i = 0; i < 3; i++) await guest.session.exec(REQUEST);
    await guest.sees((frame) => frame.channel === 5);
    expect(guest.frames.map((frame) => frame.channel)).toEqual([0, 1, 3, 5]);
  });

  it("tells what the ready frame said", async () => {
    guest = await FakeGuest.ready();
    expect(await guest.session.ready).toEqual({
      guestVersion: "test",
      windowBytes: 262_144,
      features: ["exec", "pty", "files"],
      execs: [],
    });
  });

  it.each([
    ["not_found", "command_not_found"],
    ["not_executable", "command_not_executable"],
    ["bad_cwd", "bad_workdir"],
    ["bad_user", "bad_user"],
    ["resource", "resource_exhausted"],
    ["unsupported", "unsupported"],
    ["io", "internal"],
    ["something_new", "internal"],
  ])("FAILED %s is %s", async (code, expected) => {
    guest = await FakeGuest.ready();
    const exec = await guest.session.exec(REQUEST);
    guest.json(FrameType.failed, 1, { code, message: "why\u001b[31m\n" });
    const error = { code: expected, details: { code, reason: "why\\u{1b}[31m\\u{a}" } };
    await expect(exec.opened).rejects.toMatchObject(error);
    await expect(exec.exited).rejects.toMatchObject(error);
    expect(guest.session.failure).toBeNull();
  });

  it("cuts a long message of the guest", async () => {
    guest = await FakeGuest.ready();
    const exec = await guest.session.exec(REQUEST);
    guest.json(FrameType.failed, 1, { code: "io", message: "m".repeat(60_000) });
    const error: AgentKernelError = await exec.opened.then(
      () => expect.unreachable(),
      (reason) => reason,
    );
    expect(String(error.details.reason).length).toBe(1025);
    expect(error.message.length).toBeLessThan(1200);
  });

  it("refuses a command without words and one that is too large, and stays usable", async () => {
    guest = await FakeGuest.ready();
    await expect(guest.session.exec({ ...REQUEST, argv: [] })).rejects.toMatchObject({ code: "invalid_argument" });
    const large = { ...REQUEST, argv: ["x".repeat(4_194_304)] };
    await expect(guest.session.exec(large)).rejects.toMatchObject({ code: "invalid_argument" });
    await guest.session.exec(REQUEST);
    expect((await guest.sees((frame) => frame.type === FrameType.open)).channel).toBe(1);
  });

  it("opens at most 256 channels at once, and more when some have ended", async () => {
    guest = await FakeGuest.ready();
    const first = await guest.session.exec(REQUEST);
    for (let i = 1; i < 256; i++) await guest.session.exec(REQUEST);
    await expect(guest.session.exec(REQUEST)).rejects.toMatchObject({ code: "resource_exhausted" });
    guest.json(FrameType.failed, 1, { code: "io", message: "" });
    await expect(first.opened).rejects.toMatchObject({ code: "internal" });
    await guest.session.exec(REQUEST);
  });
});

describe("output", () => {
  it("keeps the streams apart and reports the end of each, then the exit", async () => {
    const exec = await started();
    const [out, err] = [new CollectingSink(), new CollectingSink()];
    exec.onOutput(1, out);
    exec.onOutput(2, err);
    guest.data(1, 1, "o1").data(1, 2, "e1").data(1, 1, "o2").eof(1, 2).eof(1, 1);
    guest.json(FrameType.exit, 1, { ...EXIT_0, code: null, signal: 9 });
    expect(await exec.exited).toEqual({
      code: null,
      signal: 9,
      usage: { userUs: 1, systemUs: 2, maxRssKiB: 3 },
    });
    await Promise.all([out.ended, err.ended]);
    expect([String(out.bytes), String(err.bytes)]).toEqual(["o1o2", "e1"]);
  });

  it("waits in memory for a sink that comes late", async () => {
    const exec = await started();
    const text = "0123456789abcdef".repeat(WINDOW / 16);
    for (let at = 0; at < text.length; at += 1000) guest.data(1, 1, text.slice(at, at + 1000));
    guest.eof(1, 1).eof(1, 2).json(FrameType.exit, 1, EXIT_0);
    await exec.exited;
    const sink = new CollectingSink();
    exec.onOutput(1, sink);
    await sink.ended;
    expect(String(sink.bytes) === text).toBe(true);
  });

  it("grants credit only when the sink is done with half of the window", async () => {
    const exec = await started();
    const sink = new StuckSink();
    exec.onOutput(1, sink);
    guest.data(1, 1, Buffer.alloc(WINDOW / 2 - 1)).data(1, 1, "x");
    await roundTrip();
    expect(sink.offeredBytes).toBe(WINDOW / 2);
    expect(guest.frames.some((frame) => frame.type === FrameType.credit)).toBe(false);
    sink.release();
    const credit = await guest.sees((frame) => frame.type === FrameType.credit);
    expect([credit.channel, credit.stream, credit.payload.readUInt32LE(0)]).toEqual([1, 1, WINDOW / 2]);
  });

  it("a flood of one-byte frames does not become a flood of writes at a slow sink", async () => {
    const exec = await started();
    const sink = new StuckSink();
    exec.onOutput(1, sink);
    for (let i = 0; i < WINDOW; i++) guest.data(1, 1, "x");
    await roundTrip();
    expect(sink.offers).toBe(MAX_WRITES_IN_FLIGHT);
    sink.release();
    guest.eof(1, 1);
    await sink.ended;
    expect(sink.offeredBytes).toBe(WINDOW);
    expect(sink.offers).toBeLessThanOrEqual(MAX_WRITES_IN_FLIGHT + 2);
  });

  it("calling done twice grants once", async () => {
    const exec = await started();
    exec.onOutput(1, {
      write: (_chunk, done) => {
        done();
        done();
      },
      end: () => {},
    });
    guest.data(1, 1, Buffer.alloc(WINDOW / 2));
    await roundTrip();
    const granted = guest.frames.filter((frame) => frame.type === FrameType.credit);
    expect(granted.map((frame) => frame.payload.readUInt32LE(0))).toEqual([WINDOW / 2]);
  });

  it("a sink that throws ends the session, not the process", async () => {
    const exec = await started();
    const cause = new Error("full");
    exec.onOutput(1, {
      write: () => {
        throw cause;
      },
      end: () => {},
    });
    guest.data(1, 1, "x");
    await expect(exec.exited).rejects.toMatchObject({ code: "internal", cause });
  });
});

describe("input", () => {
  it("sends at most the assumed window before the ready frame, and the rest of the real one after it", async () => {
    guest = await FakeGuest.connect();
    const exec = await guest.session.exec(REQUEST);
    expect(exec.writeStdin(Buffer.alloc(300_000))).toBe(false);
    await guest.sees(() => guest.dataBytes === 65_536);
    const drained = new Promise<void>((resolve) => exec.onDrain(resolve));
    guest.json(FrameType.hello, 0, READY);
    await guest.sees(() => guest.dataBytes === READY.window);
    guest.credit(1, 0, 300_000);
    await drained;
    await guest.sees(() => guest.dataBytes === 300_000);
  });

  it("arrives whole, in frames of at most 256 KiB, and EOF comes last", async () => {
    const exec = await started();
    const input = Buffer.from(Uint32Array.from({ length: 500_000 }, (_, at) => at).buffer);
    guest.credit(1, 0, 2_000_000);
    await roundTrip();
    exec.writeStdin(input);
    exec.endStdin();
    await guest.sees((frame) => frame.type === FrameType.eof);
    expect(guest.frames.at(-1)?.type).toBe(FrameType.eof);
    expect(Math.max(...guest.frames.map((frame) => frame.payload.length))).toBe(262_144);
    expect(guest.received(1).equals(input)).toBe(true);
  });

  it("credit after EOF is ignored, and so is input after the command has ended", async () => {
    const exec = await started();
    exec.endStdin();
    guest
      .credit(1, 0, 2 ** 31 - 1)
      .eof(1, 1)
      .eof(1, 2)
      .json(FrameType.exit, 1, EXIT_0);
    await exec.exited;
    expect(exec.writeStdin(Buffer.from("x"))).toBe(true);
    expect(guest.session.failure).toBeNull();
  });

  it("whoever waits for drain is let go when the command ends", async () => {
    const exec = await started();
    expect(exec.writeStdin(Buffer.alloc(READY.window + 1))).toBe(false);
    const drained = new Promise<void>((resolve) => exec.onDrain(resolve));
    guest.eof(1, 1).eof(1, 2).json(FrameType.exit, 1, EXIT_0);
    await drained;
  });

  it("does not pile up on the socket of a guest that grants credit and does not read", async () => {
    const exec = await started();
    guest.credit(1, 0, 2 ** 30);
    await roundTrip();
    guest.socket.pause();
    exec.writeStdin(Buffer.alloc(64 * 1024 * 1024));
    expect(guest.hostEnd.writableLength).toBeLessThan(1_000_000);
    guest.socket.resume();
    await guest.sees(() => guest.dataBytes === 64 * 1024 * 1024);
  }, 20_000);
});

describe("a guest that does not read for a while", () => {
  it("is still listened to, however much the host has to send", async () => {
    const exec = await started();
    const sink = new CollectingSink();
    exec.onOutput(1, sink);
    guest.socket.pause();
    await guest.session.exec({ ...REQUEST, argv: ["x".repeat(4_000_000)] });
    expect(guest.hostEnd.writableLength).toBeGreaterThan(2_000_000);
    // Two frames in two reads: the second one only comes if the first did not stop the reading.
    guest.data(1, 1, "first");
    while (sink.bytes.length < 5) await new Promise((resolve) => setImmediate(resolve));
    guest.data(1, 1, "second").eof(1, 1);
    await sink.ended;
    expect(String(sink.bytes)).toBe("firstsecond");
  });
});

describe("control", () => {
  it("sends signals, sizes and CLOSE, and nothing after the command has ended", async () => {
    const exec = await started({ ...REQUEST, tty: { cols: 80, rows: 24 } });
    exec.signal(15, "tree");
    exec.resize({ cols: 100, rows: 50 });
    exec.close();
    exec.close();
    await guest.sees((frame) => frame.type === FrameType.close);
    expect(guest.frames.slice(2).map((frame) => [frame.type, jsonOf(frame)])).toEqual([
      [FrameType.signal, { signal: 15, scope: "tree" }],
      [FrameType.resize, { cols: 100, rows: 50 }],
      [FrameType.close, {}],
    ]);
    guest.eof(1, 1).json(FrameType.exit, 1, EXIT_0);
    await exec.exited;
    exec.signal(9, "process");
    await roundTrip();
    expect(guest.frames.filter((frame) => frame.type === FrameType.signal).length).toBe(1);
  });

  it("a stream that ends early: pending work and sinks learn that the sandbox died", async () => {
    const exec = await started();
    const sink = new CollectingSink();
    exec.onOutput(1, sink);
    const stat = guest.session.files.stat("/x");
    guest.data(1, 1, "last words");
    guest.socket.end();
    await expect(exec.exited).rejects.toMatchObject({ code: "sandbox_died" });
    await expect(stat).rejects.toMatchObject({ code: "sandbox_died" });
    expect(await sink.ended).toMatchObject({ code: "sandbox_died" });
    expect(String(sink.bytes)).toBe("last words");
    expect(await guest.session.ended).toMatchObject({ code: "sandbox_died" });
  });

  it("a stream that ends in the middle of the ready frame", async () => {
    guest = await FakeGuest.connect();
    guest.raw(Buffer.alloc(5));
    guest.socket.end();
    await expect(guest.session.ready).rejects.toMatchObject({ code: "sandbox_died" });
  });

  it("after SHUTDOWN the end of the stream is no failure", async () => {
    guest = await FakeGuest.ready();
    guest.session.shutdown(500);
    expect(jsonOf(await guest.sees((frame) => frame.type === FrameType.shutdown))).toEqual({ grace_ms: 500 });
    guest.socket.end();
    expect(await guest.session.ended).toBeNull();
  });

  it("destroy drops the stream, rejects what is pending, and can be called again", async () => {
    const exec = await started();
    const gone = new Promise((resolve) => guest.socket.once("close", resolve));
    guest.session.destroy();
    guest.session.destroy();
    await expect(exec.exited).rejects.toMatchObject({ code: "sandbox_died" });
    expect(await guest.session.ended).toBeNull();
    await gone;
  });
});
