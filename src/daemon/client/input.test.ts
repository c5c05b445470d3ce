import { Buffer } from "node:buffer";
import { describe, expect, it } from "vitest";
import { ClientInput } from "./input.js";

function input(hasInput = true) {
  const told = { granted: 0, stopped: 0, raw: [] as boolean[] };
  const made = new ClientInput({
    isTerminal: true,
    hasInput,
    grant: (bytes) => {
      told.granted += bytes;
    },
    stop: () => {
      told.stopped++;
    },
    makeRaw: (isRaw) => told.raw.push(isRaw),
  });
  return { made, told };
}

describe("input of a client", () => {
  it("is not asked for until somebody reads", () => {
    const { made, told } = input();
    const stream = made.open();
    expect(told.granted).toBe(0);
    stream?.read();
    expect(told.granted).toBeGreaterThan(0);
  });

  it("is not asked for any further while nobody takes it", () => {
    const { made, told } = input();
    made.open()?.read();
    const asked = told.granted;
    made.take(Buffer.alloc(asked));
    expect(told.granted).toBe(asked);
    expect(() => made.take(Buffer.alloc(1))).toThrow(RangeError);
  });

  it("arrives in order, and ends", async () => {
    const { made } = input();
    const stream = made.open();
    stream?.read();
    made.take(Buffer.from("one "));
    made.take(Buffer.from("two"));
    made.end();
    const got: Buffer[] = [];
    for await (const chunk of stream ?? []) got.push(chunk as Buffer);
    expect(Buffer.concat(got).toString()).toBe("one two");
  });

  it("that nobody reads any more is told once", async () => {
    const { made, told } = input();
    const stream = made.open();
    const closed = new Promise((resolve) => stream?.once("close", resolve));
    stream?.destroy();
    await closed;
    stream?.destroy();
    expect(told.stopped).toBe(1);
  });

  it("where there is none is not opened", () => {
    expect(input(false).made.open()).toBeNull();
  });

  it("is made raw and given back once", () => {
    const { made, told } = input();
    const restore = made.makeRaw();
    restore();
    restore();
    expect(told.raw).toEqual([true, false]);
  });
});
