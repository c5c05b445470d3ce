import { Buffer } from "node:buffer";
import { constants } from "node:os";
import { describe, expect, it } from "vitest";
import { ClientOutput, OUTPUT_WINDOW_BYTES } from "./output.js";

function output() {
  const sent: number[] = [];
  const made = new ClientOutput({
    stream: 1,
    isTerminal: false,
    size: () => null,
    onResize: () => () => {},
    send: (_, bytes, done) => {
      sent.push(bytes.length);
      done();
    },
  });
  const total = (): number => sent.reduce((sum, length) => sum + length, 0);
  return { made, total };
}

const settled = (promise: Promise<unknown>): Promise<boolean> =>
  Promise.race([promise.then(() => true), new Promise<boolean>((resolve) => setImmediate(() => resolve(false)))]);

describe("output of a client", () => {
  it("is written when the client says so, and not before", async () => {
    const { made } = output();
    const written = made.write("hello");
    expect(await settled(written)).toBe(false);
    made.credit(4);
    expect(await settled(written)).toBe(false);
    made.credit(1);
    expect(await written).toBeNull();
  });

  it("is sent no further ahead than the window, whatever a command prints", () => {
    const { made, total } = output();
    const { sink } = made.open(() => {});
    let taken = 0;
    for (let count = 0; count < 64; count++) sink.write(Buffer.alloc(65_536), () => taken++);
    expect(total()).toBe(OUTPUT_WINDOW_BYTES);
    expect(taken).toBe(OUTPUT_WINDOW_BYTES / 65_536);
    made.credit(65_536);
    expect(total()).toBe(OUTPUT_WINDOW_BYTES + 65_536);
    expect(taken).toBe(OUTPUT_WINDOW_BYTES / 65_536 + 1);
  });

  it("ends a command's stream when everything has been written", async () => {
    const { made } = output();
    const { sink, done } = made.open(() => {});
    sink.write(Buffer.from("last"), () => {});
    sink.end();
    expect(await settled(done)).toBe(false);
    made.credit(4);
    expect(await settled(done)).toBe(true);
  });

  it("whose reader has gone is told to the command once, and everything else is let go", async () => {
    const { made } = output();
    const reasons: unknown[] = [];
    const { sink } = made.open((why) => reasons.push(why));
    let taken = 0;
    for (let count = 0; count < 64; count++) sink.write(Buffer.alloc(65_536), () => taken++);
    const words = made.write("more");
    made.close(constants.errno.EPIPE);
    made.close(constants.errno.EPIPE);
    sink.write(Buffer.from("x"), () => taken++);
    expect(reasons).toEqual([null]);
    expect(taken).toBe(65);
    expect(await words).toMatchObject({ code: "EPIPE" });
  });

  it("that cannot be written for another reason says which", () => {
    const { made } = output();
    const reasons: unknown[] = [];
    made.open((why) => reasons.push(why));
    made.close(constants.errno.ENOSPC);
    expect(reasons).toMatchObject([{ message: "standard output cannot be written (ENOSPC)" }]);
  });

  it("that a client claims to have written without having got it is a lie", () => {
    expect(() => output().made.credit(1)).toThrow(RangeError);
  });
});
