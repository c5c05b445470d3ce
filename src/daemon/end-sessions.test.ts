import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { endSessions } from "./end-sessions.js";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it("a command line that goes on after SIGTERM is told again before the daemon's time is up", async () => {
  const told: number[] = [];
  const ending = endSessions(new Set([{ signal: (signal) => void told.push(signal) }]), new Promise(() => {}));
  expect(told).toEqual([15]);
  await vi.advanceTimersByTimeAsync(9000);
  expect(told).toEqual([15, 15]);
  await vi.advanceTimersByTimeAsync(1000);
  await ending;
});

it("when all have ended nobody is told anything more", async () => {
  const told: number[] = [];
  await endSessions(new Set([{ signal: (signal) => void told.push(signal) }]), Promise.resolve());
  await vi.advanceTimersByTimeAsync(20_000);
  expect(told).toEqual([15]);
});
