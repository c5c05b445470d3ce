import { describe, expect, it } from "vitest";
import type { BootedSandbox, BootSpec } from "./backend.js";
import { type Deferred, deferred } from "./deferred.js";
import { takeOnce } from "./take-once.js";

const spec = {} as BootSpec;
const booted = {} as BootedSandbox;

interface Entry {
  readonly warm: ReturnType<typeof takeOnce>;
  readonly gone: Deferred<void>;
  /** What the backend was asked to do, in order. */
  readonly calls: string[];
}

function entry(): Entry {
  const gone = deferred<void>();
  const calls: string[] = [];
  const warm = takeOnce({
    gone: gone.promise,
    take: async () => {
      calls.push("take");
      return booted;
    },
    prescan: (number, folder) => calls.push(`prescan ${number} ${folder}`),
    discard: async () => {
      calls.push("discard");
    },
  });
  return { warm, gone, calls };
}

describe("a sandbox that was built ahead", () => {
  it("serves once, and is over for the pool then", async () => {
    const { warm, calls } = entry();
    expect(await warm.take(spec)).toBe(booted);
    await warm.over;
    await expect(warm.take(spec)).rejects.toThrow("taken twice");
    expect(calls).toEqual(["take"]);
  });

  it("is not scanned for or ended any more when it has been taken", async () => {
    const { warm, calls } = entry();
    warm.prescan?.(1, "/project");
    await warm.take(spec);
    warm.prescan?.(2, "/project");
    await warm.discard();
    expect(calls).toEqual(["prescan 1 /project", "take"]);
  });

  it("is ended once, and cannot be taken afterwards", async () => {
    const { warm, calls } = entry();
    await Promise.all([warm.discard(), warm.discard()]);
    await expect(warm.take(spec)).rejects.toThrow("taken twice");
    expect(calls).toEqual(["discard"]);
  });

  it.each(["resolve", "reject"] as const)("is over when nothing of it is left (%s)", async (how) => {
    const { warm, gone } = entry();
    if (how === "resolve") gone.resolve();
    else gone.reject(new Error("it was killed"));
    await warm.over;
  });

  it("scans nothing ahead where its backend does not", () => {
    const warm = takeOnce({ gone: deferred<void>().promise, take: async () => booted, discard: async () => {} });
    expect(warm.prescan).toBeUndefined();
  });
});
