import { afterEach, describe, expect, it, vi } from "vitest";
import { endTyping } from "./end-of-typing.js";

afterEach(() => vi.useRealTimers());

describe("the end of input that is no terminal's", () => {
  it("is Ctrl-D, pressed again for later reads, ever less often, until the command ends", () => {
    vi.useFakeTimers();
    const pressed: number[] = [];
    const begun = Date.now();
    const stop = endTyping({
      writeStdin: (bytes) => {
        expect([...bytes]).toEqual([4]);
        pressed.push(Date.now() - begun);
        return true;
      },
    });
    vi.advanceTimersByTime(1000);
    expect(pressed).toEqual([0, 50, 150, 350, 750]);
    vi.advanceTimersByTime(60_000);
    expect(pressed.length).toBeLessThan(30);
    const before = pressed.length;
    stop();
    vi.advanceTimersByTime(60_000);
    expect(pressed).toHaveLength(before);
  });
});
