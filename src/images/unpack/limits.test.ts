import { expect, it } from "vitest";
import { LAYER_LIMITS, limitsFor } from "./limits.js";

const GIB = 2 ** 30;

it("a small layer may not become a huge one, and no layer more than the limit", () => {
  expect(limitsFor(1000, LAYER_LIMITS).maxBytes).toBe(4 * GIB);
  expect(limitsFor(GIB / 25, LAYER_LIMITS).maxBytes).toBe(10 * GIB);
  expect(limitsFor(10 * GIB, LAYER_LIMITS).maxBytes).toBe(LAYER_LIMITS.maxBytes);
  expect(limitsFor(1000, { maxBytes: 10, maxEntries: 3 })).toEqual({ maxBytes: 10, maxEntries: 3 });
});
