import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { encodeFrame, FrameType } from "./frame.js";
import { Heartbeat } from "./heartbeat.js";
import { FakeGuest } from "./testing/fake-guest.js";

const heartbeat = { quietMs: 30_000, patienceMs: 90_000 };
const BOTH_MS = heartbeat.quietMs + heartbeat.patienceMs;

describe("a guest that is watched", () => {
  let asked = 0;
  let givenUp = 0;
  let watch: Heartbeat;
  beforeEach(() => {
    vi.useFakeTimers();
    [asked, givenUp] = [0, 0];
    watch = new Heartbeat(heartbeat, { ask: () => asked++, giveUp: () => givenUp++ });
  });
  afterEach(() => {
    watch.stop();
    vi.useRealTimers();
  });

  it("is not asked as long as it speaks", () => {
    for (let at = 0; at < 10; at++) {
      watch.heard();
      vi.advanceTimersByTime(heartbeat.quietMs);
    }
    expect([asked, givenUp]).toEqual([0, 0]);
  });

  it("is asked once when it is silent, and given up when it stays so", () => {
    vi.advanceTimersByTime(BOTH_MS - 1);
    expect([asked, givenUp]).toEqual([1, 0]);
    vi.advanceTimersByTime(1);
    expect([asked, givenUp]).toEqual([1, 1]);
  });

  it("is not given up when it answers, however late, nor when it says anything else", () => {
    vi.advanceTimersByTime(BOTH_MS - 1);
    watch.heard();
    expect([watch.answered(), watch.answered()]).toEqual([true, false]);
    vi.advanceTimersByTime(BOTH_MS - 1);
    watch.heard();
    vi.advanceTimersByTime(BOTH_MS - 1);
    expect(givenUp).toBe(0);
  });

  it("may be silent while it is held still, and is expected to speak afterwards", () => {
    watch.excuse();
    vi.advanceTimersByTime(10 * BOTH_MS);
    expect([asked, givenUp]).toEqual([0, 0]);
    watch.expect();
    vi.advanceTimersByTime(BOTH_MS);
    expect([asked, givenUp]).toEqual([1, 1]);
  });

  it("has all of its time again when it was held still while it was asked", () => {
    vi.advanceTimersByTime(heartbeat.quietMs);
    watch.excuse();
    vi.advanceTimersByTime(heartbeat.patienceMs - 1);
    watch.expect();
    vi.advanceTimersByTime(BOTH_MS - 1);
    expect([asked, givenUp]).toEqual([1, 0]);
  });

  it("is not given up by a process that had no time to listen", () => {
    vi.advanceTimersByTime(heartbeat.quietMs);
    const late = vi.spyOn(performance, "now").mockReturnValue(performance.now() + heartbeat.patienceMs + 60_000);
    vi.advanceTimersByTime(heartbeat.patienceMs);
    late.mockRestore();
    expect([asked, givenUp]).toEqual([1, 0]);
  });
});

describe("a session with one", () => {
  let guest: FakeGuest;
  afterEach(() => guest.end());

  it("asks by PING, takes its PONG, and no second one", async () => {
    guest = await FakeGuest.ready();
    guest.session.watchHeartbeat({ quietMs: 1, patienceMs: 600_000 });
    await guest.sees((frame) => frame.type === FrameType.ping && frame.payload.length === 0);
    guest.raw(encodeFrame(FrameType.pong, 0));
    guest.raw(encodeFrame(FrameType.pong, 0));
    expect(await guest.session.ended).toMatchObject({ code: "guest_protocol", details: { reason: "unasked-pong" } });
  });

  it("does not take a PONG with other bytes than it sent", async () => {
    guest = await FakeGuest.ready();
    guest.session.watchHeartbeat({ quietMs: 1, patienceMs: 600_000 });
    await guest.sees((frame) => frame.type === FrameType.ping);
    guest.raw(encodeFrame(FrameType.pong, 0, 0, Buffer.from("x")));
    expect(await guest.session.ended).toMatchObject({ code: "guest_protocol" });
  });

  it("ends where there is none, and says so to all who wait", async () => {
    guest = await FakeGuest.ready();
    const exec = await guest.session.exec({ argv: ["x"], cwd: "/", env: {}, stdin: false });
    guest.session.watchHeartbeat({ quietMs: 1, patienceMs: 1 });
    await expect(exec.exited).rejects.toMatchObject({
      code: "sandbox_died",
      message: expect.stringContaining("no sign of life"),
    });
    await guest.session.ended;
  });
});
