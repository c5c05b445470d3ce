/** THREATS G1: each way a guest can break the protocol ends its session with that reason, and nothing else. */
import { afterEach, describe, expect, it } from "vitest";
import type { ExecRequest } from "../core/exec.js";
import type { GuestExec } from "./exec.js";
import { encodeFrame, encodeJson, FrameType } from "./frame.js";
import { EXIT_0, FakeGuest, READY } from "./testing/fake-guest.js";
import { CollectingSink } from "./testing/sinks.js";
import type { ViolationReason } from "./violation.js";

const REQUEST: ExecRequest = { argv: ["x"], cwd: "/", env: {}, stdin: true };
const OPENED = encodeJson(FrameType.opened, 1, { pid: 7 });

let guest: FakeGuest;
afterEach(() => guest.end());

async function running(request: ExecRequest = REQUEST, windowBytes = 65_536): Promise<GuestExec> {
  guest = await FakeGuest.ready({ windowBytes });
  const exec = await guest.session.exec(request);
  await guest.sees((frame) => frame.type === FrameType.open);
  return exec;
}

/** The session ended for this reason, the socket is gone, and everything pending has rejected with the same error. */
async function expectViolation(reason: ViolationReason, exec?: GuestExec): Promise<void> {
  const error = await guest.session.ended;
  expect(error).toMatchObject({ code: "guest_protocol", details: { reason } });
  if (exec) await expect(exec.exited).rejects.toBe(error);
  await expect(guest.session.exec(REQUEST)).rejects.toBe(error);
  await new Promise((resolve) => (guest.socket.closed ? resolve(null) : guest.socket.once("close", resolve)));
}

describe("the handshake", () => {
  it.each([
    ["anything before HELLO", encodeFrame(FrameType.ping, 0), "before-hello"],
    ["DATA before HELLO", encodeFrame(FrameType.data, 1, 1, Buffer.from("x")), "before-hello"],
    ["OPEN before HELLO", encodeJson(FrameType.open, 2, { kind: "unheard-of" }), "before-hello"],
    ["a missing version", encodeJson(FrameType.hello, 0, { ...READY, protocol: undefined }), "bad-member"],
    ["a version as text", encodeJson(FrameType.hello, 0, { ...READY, protocol: "1" }), "bad-member"],
    ["a window below the least", encodeJson(FrameType.hello, 0, { ...READY, window: 65_535 }), "bad-member"],
    ["a window above the most", encodeJson(FrameType.hello, 0, { ...READY, window: 16_777_217 }), "bad-member"],
    ["features that are no list", encodeJson(FrameType.hello, 0, { ...READY, features: { length: 1 } }), "bad-member"],
    ["a feature that is no text", encodeJson(FrameType.hello, 0, { ...READY, features: [1] }), "bad-member"],
    ["an endless version name", encodeJson(FrameType.hello, 0, { ...READY, guest: "v".repeat(65) }), "bad-member"],
  ] as const)("%s", async (_name, bytes, reason) => {
    guest = await FakeGuest.connect();
    guest.raw(bytes);
    await expectViolation(reason);
    await expect(guest.session.ready).rejects.toMatchObject({ code: "guest_protocol" });
  });

  it("members that are only inherited do not count", async () => {
    guest = await FakeGuest.connect();
    const body = Buffer.from('{"__proto__":{"protocol":1,"guest":"","window":65536,"features":[]}}');
    guest.raw(encodeFrame(FrameType.hello, 0, 0, body));
    await expectViolation("bad-member");
  });

  it("a second HELLO", async () => {
    guest = await FakeGuest.ready();
    guest.json(FrameType.hello, 0, READY);
    await expectViolation("second-hello");
  });

  it("another version is an error that names both", async () => {
    guest = await FakeGuest.connect();
    guest.json(FrameType.hello, 0, { protocol: 2 });
    await expectViolation("version-mismatch");
    expect(guest.session.failure?.message).toMatch(/version 2.*version 1/);
  });
});

describe("an exec", () => {
  const data = (stream: 0 | 1 | 2, bytes = 1) => encodeFrame(FrameType.data, 1, stream, Buffer.alloc(bytes));
  const eof = (stream: 0 | 1 | 2) => encodeFrame(FrameType.eof, 1, stream);
  const exit = (body: object = EXIT_0) => encodeJson(FrameType.exit, 1, body);
  const close = encodeJson(FrameType.close, 1, {});
  const failed = (body: object) => encodeJson(FrameType.failed, 1, body);
  const refusal = { code: "io", message: "" };
  const credit = (stream: 0 | 1 | 2, bytes: number) => {
    const payload = Buffer.alloc(4);
    payload.writeUInt32LE(bytes);
    return encodeFrame(FrameType.credit, 1, stream, payload);
  };

  it.each([
    ["OPENED twice", [OPENED, OPENED], "second-answer"],
    ["FAILED after OPENED", [OPENED, failed(refusal)], "second-answer"],
    ["OPENED after FAILED", [failed(refusal), OPENED], "after-terminal"],
    ["OPENED without a pid", [encodeJson(FrameType.opened, 1, {})], "bad-member"],
    ["OPENED with pid 0", [encodeJson(FrameType.opened, 1, { pid: 0 })], "bad-member"],
    ["OPENED with a fractional pid", [encodeJson(FrameType.opened, 1, { pid: 1.5 })], "bad-member"],
    ["FAILED without a code", [failed({ message: "x" })], "bad-member"],
    ["FAILED with control characters as code", [failed({ code: "\u001b[2J", message: "x" })], "bad-member"],
    ["FAILED without a message", [failed({ code: "io" })], "bad-member"],
    ["DATA before OPENED", [data(1)], "before-opened"],
    ["EOF before OPENED", [eof(1)], "before-opened"],
    ["EXIT before OPENED", [exit()], "before-opened"],
    ["DATA on stdin", [OPENED, data(0)], "wrong-stream"],
    ["EOF on stdin", [OPENED, eof(0)], "wrong-stream"],
    ["CREDIT for stdout", [OPENED, credit(1, 1)], "wrong-stream"],
    ["DATA after EOF", [OPENED, eof(1), data(1)], "data-after-eof"],
    ["EOF twice", [OPENED, eof(1), eof(1)], "second-eof"],
    ["more DATA than the window", [OPENED, data(1, 65_537)], "over-credit"],
    ["more DATA than the window, in parts", [OPENED, data(1, 65_000), data(1, 537)], "over-credit"],
    ["EXIT before both streams ended", [OPENED, eof(1), exit()], "terminal-before-eof"],
    ["CLOSE in place of EXIT", [OPENED, eof(1), eof(2), close], "wrong-terminal"],
    ["EXIT twice", [OPENED, eof(1), eof(2), exit(), exit()], "after-terminal"],
    ["output after EXIT", [OPENED, eof(1), eof(2), exit(), data(1)], "after-terminal"],
    ["credit after EXIT", [OPENED, eof(1), eof(2), exit(), credit(0, 1)], "after-terminal"],
    ["credit above 2^31 - 1 in sum", [OPENED, credit(0, 2 ** 31 - 1)], "bad-credit"],
    ["PONG that nobody asked for", [OPENED, encodeFrame(FrameType.pong, 0)], "unasked-pong"],
    ["a channel that was never opened", [encodeJson(FrameType.opened, 3, { pid: 7 })], "unknown-channel"],
    ["a guest channel that was never opened", [encodeFrame(FrameType.eof, 2, 1)], "unknown-channel"],
  ] as const)("%s", async (_name, frames, reason) => {
    const exec = await running();
    guest.raw(Buffer.concat(frames));
    await expectViolation(reason, reason === "after-terminal" ? undefined : exec);
  });

  it.each([
    ["no code and no signal", { ...EXIT_0, code: null }],
    ["both code and signal", { ...EXIT_0, signal: 9 }],
    ["a code above 255", { ...EXIT_0, code: 256 }],
    ["a negative code", { ...EXIT_0, code: -1 }],
    ["a code as text", { ...EXIT_0, code: "0" }],
    ["a missing code", { signal: 9, usage: EXIT_0.usage }],
    ["signal 0", { ...EXIT_0, code: null, signal: 0 }],
    ["signal 65", { ...EXIT_0, code: null, signal: 65 }],
    ["no usage", { code: 0, signal: null }],
    ["a negative usage", { ...EXIT_0, usage: { ...EXIT_0.usage, user_us: -1 } }],
    ["usage as a list", { ...EXIT_0, usage: [] }],
  ])("EXIT with %s", async (_name, body) => {
    const exec = await running();
    guest.raw(Buffer.concat([OPENED, eof(1), eof(2), exit(body)]));
    await expectViolation("bad-member", exec);
  });

  it("stderr of a command on a terminal", async () => {
    const exec = await running({ ...REQUEST, tty: { cols: 80, rows: 24 } });
    guest.raw(Buffer.concat([OPENED, data(2)]));
    await expectViolation("wrong-stream", exec);
  });

  it("credit is not renewed by bytes that the sink has not taken", async () => {
    const exec = await running();
    exec.onOutput(1, { write: () => {}, end: () => {} });
    guest.raw(Buffer.concat([OPENED, data(1, 65_536), data(1, 1)]));
    await expectViolation("over-credit", exec);
  });

  it("one exec cannot end another (G3)", async () => {
    const first = await running();
    const second = await guest.session.exec(REQUEST);
    second.onOutput(1, new CollectingSink());
    guest.raw(OPENED).json(FrameType.opened, 3, { pid: 8 });
    guest.eof(3, 1).eof(3, 2).json(FrameType.exit, 3, EXIT_0);
    expect((await second.exited).code).toBe(0);
    guest.json(FrameType.exit, 3, EXIT_0);
    await expectViolation("after-terminal", first);
  });

  it("a breach in one session leaves another one alone (G3)", async () => {
    const exec = await running();
    const other = await FakeGuest.ready();
    const untouched = await other.session.exec(REQUEST);
    guest.raw(Buffer.alloc(12, 0xff));
    await expectViolation("unknown-type", exec);
    other.json(FrameType.opened, 1, { pid: 5 });
    expect(await untouched.opened).toEqual({ pid: 5 });
    other.end();
  });
});

describe("channels of the guest", () => {
  it.each(["unheard-of", "anything"])("%s is refused as unsupported", async (kind) => {
    guest = await FakeGuest.ready();
    guest.json(FrameType.open, 2, { kind });
    const answer = await guest.sees((frame) => frame.type === FrameType.failed);
    expect(answer.channel).toBe(2);
    expect(JSON.parse(String(answer.payload))).toMatchObject({ code: "unsupported" });
  });

  it("what was sent before the refusal arrived is dropped", async () => {
    guest = await FakeGuest.ready();
    guest.json(FrameType.open, 2, { kind: "unheard-of" }).data(2, 0, "late").eof(2, 0).json(FrameType.close, 2, {});
    guest.raw(encodeFrame(FrameType.ping, 0, 0, Buffer.from("on")));
    expect(String((await guest.sees((frame) => frame.type === FrameType.pong)).payload)).toBe("on");
    expect(guest.session.failure).toBeNull();
  });

  it.each([
    ["an id of the host's parity", [1], "bad-open-id"],
    ["an id used before", [2, 2], "bad-open-id"],
    ["an id that went down", [4, 2], "bad-open-id"],
  ] as const)("%s", async (_name, ids, reason) => {
    guest = await FakeGuest.ready();
    for (const id of ids) guest.json(FrameType.open, id, { kind: "unheard-of" });
    await expectViolation(reason);
  });

  it("no kind", async () => {
    guest = await FakeGuest.ready();
    guest.json(FrameType.open, 2, {});
    await expectViolation("bad-member");
  });

  it("answers on its own channel", async () => {
    guest = await FakeGuest.ready();
    guest.json(FrameType.open, 2, { kind: "unheard-of" }).json(FrameType.opened, 2, {});
    await expectViolation("unknown-channel");
  });
});

describe("a guest that talks and never reads", () => {
  it.each([
    ["PING", (at: number) => encodeFrame(FrameType.ping, 0, 0, Buffer.alloc(64, at))],
    ["OPEN", (at: number) => encodeJson(FrameType.open, 2 * at + 2, { kind: "unheard-of" })],
  ] as const)("a flood of %s stops being read, and goes on when the guest reads", async (_name, make) => {
    guest = await FakeGuest.ready();
    guest.socket.pause();
    const total = 60_000;
    const flood = Buffer.concat(Array.from({ length: total }, (_, at) => make(at)));
    let flushed = false;
    guest.socket.write(flood, () => {
      flushed = true;
    });
    const { hostEnd } = guest;
    await untilPaused(hostEnd);
    expect(flushed).toBe(false);
    expect(hostEnd.writableLength).toBeLessThan(3_000_000);
    guest.socket.resume();
    await guest.sees(() => guest.frames.length === total + 1);
    expect(guest.session.failure).toBeNull();
  });
});

async function untilPaused(socket: NodeJS.ReadableStream & { isPaused(): boolean }): Promise<void> {
  if (socket.isPaused()) return;
  await new Promise((resolve) => socket.once("pause", resolve));
}
