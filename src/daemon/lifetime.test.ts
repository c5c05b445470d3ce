import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Lifetime, type Stay } from "./lifetime.js";

function world(stay: Stay) {
  const held: string[] = [];
  const ended: string[] = [];
  const lifetime = new Lifetime(stay, { heldBy: () => held, end: (why) => ended.push(why) });
  return { held, ended, lifetime };
}

describe("a daemon's lifetime", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("on demand ends after its time with nothing to own", () => {
    const { lifetime, ended } = world({ onDemand: true, idleTimeoutMs: 1000 });
    lifetime.look();
    vi.advanceTimersByTime(999);
    expect(ended).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(ended).toEqual(["nothing was left to own"]);
  });

  it("does not end while something is held, and its time begins when that is over", () => {
    const { lifetime, ended, held } = world({ onDemand: true, idleTimeoutMs: 1000 });
    lifetime.look();
    vi.advanceTimersByTime(900);
    held.push("sandbox web");
    lifetime.look();
    vi.advanceTimersByTime(5000);
    held.pop();
    lifetime.look();
    vi.advanceTimersByTime(999);
    expect(ended).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(ended).toHaveLength(1);
  });

  it("without a time never ends by itself, also where it had one before", () => {
    const { lifetime, ended } = world({ onDemand: true, idleTimeoutMs: 1000 });
    lifetime.look();
    lifetime.change({ onDemand: false, idleTimeoutMs: null });
    vi.advanceTimersByTime(1_000_000);
    expect(ended).toEqual([]);
  });

  it("that is over ends nothing a second time", () => {
    const { lifetime, ended } = world({ onDemand: true, idleTimeoutMs: 1000 });
    lifetime.look();
    lifetime.over();
    lifetime.look();
    vi.advanceTimersByTime(5000);
    expect(ended).toEqual([]);
  });
});
