import { describe, expect, it } from "vitest";
import { AgentKernelError } from "../../core/errors.js";
import { TransientFailure } from "./failures.js";
import { defaultRetryRules, pauseMs, retryAfterMs, withRetries } from "./retry.js";

const rules = { ...defaultRetryRules, attempts: 3, firstPauseMs: 1, maxPauseMs: 2 };
const failure = new AgentKernelError("registry_error", "broken");

describe("an attempt", () => {
  it("that fails for now is made again, up to the bound, and then its own error is told", async () => {
    let made = 0;
    const work = withRetries(rules, undefined, async () => {
      made += 1;
      throw new TransientFailure(failure);
    });
    await expect(work).rejects.toBe(failure);
    expect(made).toBe(3);
  });

  it("that fails for good is not made again", async () => {
    let made = 0;
    const work = withRetries(rules, undefined, async () => {
      made += 1;
      throw failure;
    });
    await expect(work).rejects.toBe(failure);
    expect(made).toBe(1);
  });

  it("that gets further does not use up the attempts", async () => {
    let made = 0;
    const result = await withRetries(rules, undefined, async (attempts) => {
      made += 1;
      attempts.progressed();
      if (made < 8) throw new TransientFailure(failure);
      return "done";
    });
    expect(result).toBe("done");
  });

  it("is not waited for where the registry asks for too long a pause", async () => {
    const work = withRetries(rules, undefined, async () => {
      throw new TransientFailure(failure, defaultRetryRules.maxServerPauseMs + 1);
    });
    await expect(work).rejects.toBe(failure);
  });

  it("ends at once, with the caller's reason, when it is called off during a pause", async () => {
    const stop = new AbortController();
    const slow = { ...rules, firstPauseMs: 60_000, maxPauseMs: 60_000 };
    const work = withRetries(slow, stop.signal, async () => {
      setImmediate(() => stop.abort(new Error("called off")));
      throw new TransientFailure(failure);
    });
    await expect(work).rejects.toThrow("called off");
  });
});

it("pauses double, stay within the bound, and are never less than half", () => {
  const at = (failures: number, chance: number): number => pauseMs(defaultRetryRules, failures, () => chance);
  expect([at(1, 1), at(2, 1), at(3, 1), at(10, 1)]).toEqual([500, 1000, 2000, 8000]);
  expect([at(1, 0), at(10, 0)]).toEqual([250, 4000]);
});

it("Retry-After is read in both of its forms", () => {
  expect(retryAfterMs("7", 0)).toBe(7000);
  expect(retryAfterMs("Thu, 01 Jan 1970 00:00:10 GMT", 4000)).toBe(6000);
  expect(retryAfterMs("Thu, 01 Jan 1970 00:00:01 GMT", 4000)).toBe(0);
  expect([retryAfterMs("soon", 0), retryAfterMs(undefined, 0), retryAfterMs("-3x", 0)]).toEqual([null, null, null]);
});
