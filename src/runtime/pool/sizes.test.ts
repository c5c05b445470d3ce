import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  ceiling,
  defaultPoolSettings,
  FORGET_AFTER_MS,
  type PoolSettings,
  sameSettings,
  wantedCounts,
} from "./sizes.js";

const NOW = 10 * FORGET_AFTER_MS;
const use = (agent: string, agoMs: number, peakInUse = 0, isHot = false) => ({
  agent,
  usedAtMs: NOW - agoMs,
  peakInUse,
  isHot,
});
const counts = (shapes: readonly ReturnType<typeof use>[], settings: PoolSettings = defaultPoolSettings) => {
  const wanted = wantedCounts(shapes, settings, NOW);
  return shapes.map((shape) => wanted.get(shape));
};

describe("how many are kept warm", () => {
  it("the minimum of the only shape", () => {
    expect(counts([use("native", 0)])).toEqual([3]);
  });

  it("as many as were in use at once, up to the maximum", () => {
    expect(counts([use("native", 0, 4)])).toEqual([4]);
    expect(counts([use("native", 0, 100)])).toEqual([5]);
  });

  it("the maximum where somebody calls again and again", () => {
    expect(counts([use("native", 0, 1, true), use("native", 1)])).toEqual([5, 0]);
  });

  it("of the shapes before the last one, one each as long as there is room", () => {
    expect(counts([use("native", 3), use("native", 0), use("claude", 2), use("gemini", 1)])).toEqual([0, 3, 1, 1]);
  });

  it("none of a shape that was forgotten", () => {
    expect(counts([use("native", FORGET_AFTER_MS + 1)])).toEqual([0]);
  });

  it("an agent with limits of its own has those, whatever the others use", () => {
    const settings = { min: 1, max: 1, agents: new Map([["claude", { min: 2, max: 4 }]]) };
    expect(counts([use("native", 0), use("claude", 5), use("gemini", 1)], settings)).toEqual([1, 2, 0]);
  });

  it("never more than the maximum", () => {
    const shape = fc.record({
      agent: fc.constant("native"),
      usedAtMs: fc.nat(NOW),
      peakInUse: fc.nat(20),
      isHot: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(shape), fc.nat(8), fc.nat(8), (shapes, min, more) => {
        const wanted = wantedCounts(shapes, { min, max: min + more, agents: new Map() }, NOW);
        expect([...wanted.values()].reduce((sum, one) => sum + one, 0)).toBeLessThanOrEqual(min + more);
      }),
    );
  });
});

it("what the machine has left bounds them all", () => {
  expect(ceiling(0)).toBe(0);
  expect(ceiling(1 << 30)).toBe(32);
});

it("settings are compared by what they say", () => {
  const agents = () => new Map([["claude", { min: 1, max: 2 }]]);
  expect(sameSettings({ min: 1, max: 2, agents: agents() }, { min: 1, max: 2, agents: agents() })).toBe(true);
  expect(sameSettings({ min: 1, max: 2, agents: agents() }, { min: 1, max: 2, agents: new Map() })).toBe(false);
});
