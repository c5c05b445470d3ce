import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { type Caller, localUser } from "./caller.js";
import { KeyWatch } from "./key-watch.js";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const caller = (id: string, validUntilMs?: number): Caller =>
  validUntilMs === undefined ? { ...localUser, id } : { ...localUser, id, validUntilMs };

it("asks once a second about each key, however much goes on for it, and about each token by itself", () => {
  const asked: string[] = [];
  const watch = new KeyWatch(({ id, validUntilMs }) => {
    asked.push(`${id} ${validUntilMs ?? ""}`.trim());
    return true;
  });
  for (const one of [caller("key:a"), caller("key:a"), caller("jwt:b", 1), caller("jwt:b", 2)]) watch.add(one, vi.fn());
  vi.advanceTimersByTime(999);
  expect(asked).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(asked).toEqual(["key:a", "jwt:b 1", "jwt:b 2"]);
});

it("ends everything of a key that is not valid any more, once", () => {
  let isValid = true;
  const ended = vi.fn();
  const watch = new KeyWatch(() => isValid, 10);
  for (const _ of [1, 2]) watch.add(caller("key:a"), ended);
  vi.advanceTimersByTime(10);
  expect(ended).not.toHaveBeenCalled();
  isValid = false;
  vi.advanceTimersByTime(50);
  expect(ended).toHaveBeenCalledTimes(2);
});

it("ends one token of a person and not another that still has time", () => {
  const ended: string[] = [];
  const watch = new KeyWatch(({ validUntilMs = 0 }) => validUntilMs > 5, 10);
  watch.add(caller("jwt:b", 1), () => ended.push("short"));
  watch.add(caller("jwt:b", 9), () => ended.push("long"));
  vi.advanceTimersByTime(20);
  expect(ended).toEqual(["short"]);
});

it("ends what goes on where it cannot be known whether the key is valid", () => {
  const ended = vi.fn();
  new KeyWatch(() => {
    throw new Error("the folder is gone");
  }, 10).add(caller("key:a"), ended);
  vi.advanceTimersByTime(10);
  expect(ended).toHaveBeenCalledOnce();
});

it("asks nothing while nothing goes on, has no timer then, and begins again", () => {
  const asked = vi.fn(() => true);
  const watch = new KeyWatch(asked, 10);
  const stop = watch.add(caller("key:a"), vi.fn());
  vi.advanceTimersByTime(10);
  stop();
  vi.advanceTimersByTime(10);
  expect(asked).toHaveBeenCalledOnce();
  expect(vi.getTimerCount()).toBe(0);
  watch.add(caller("key:b"), vi.fn());
  vi.advanceTimersByTime(10);
  expect(asked).toHaveBeenCalledTimes(2);
});
