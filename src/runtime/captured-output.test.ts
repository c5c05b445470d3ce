import { Buffer } from "node:buffer";
import { describe, expect, it } from "vitest";
import { CapturedOutput } from "./captured-output.js";

function write(output: CapturedOutput, stream: 1 | 2, bytes: Buffer | string): void {
  output.sink(stream, () => {}).write(Buffer.from(bytes), () => {});
}

describe("output kept for the JSON answer", () => {
  it("is there as a whole in order of arrival, and by stream", () => {
    const output = new CapturedOutput(16 << 20);
    for (const [stream, text] of [
      [1, "a"],
      [2, "b"],
      [1, "c"],
      [1, "d"],
    ] as const)
      write(output, stream, text);
    expect([output.text(), output.text(1), output.text(2)]).toEqual(["abcd", "acd", "b"]);
  });

  it("joins characters that were split over chunks", () => {
    const output = new CapturedOutput(16 << 20);
    for (const byte of Buffer.from("ä☃")) write(output, 1, Buffer.from([byte]));
    expect(output.text(1)).toBe("ä☃");
  });

  it("stops at 16 MiB and counts the rest", () => {
    const output = new CapturedOutput(16 << 20);
    for (let i = 0; i < 5; i++) write(output, 1, Buffer.alloc(4 << 20, 120));
    expect(output.text(1).length).toBe(16 << 20);
    expect(output.droppedBytes).toBe(4 << 20);
  });

  it("takes a million single bytes of two streams in little memory", () => {
    const output = new CapturedOutput(16 << 20);
    const one = Buffer.from("x");
    const sinks = [output.sink(1, () => {}), output.sink(2, () => {})];
    const before = process.memoryUsage().rss;
    for (let i = 0; i < 1_000_000; i++) sinks[i % 2]?.write(one, () => {});
    expect(process.memoryUsage().rss - before).toBeLessThan(64 << 20);
    expect(output.text().length + output.droppedBytes).toBe(1_000_000);
  });

  it("takes no memory that it was not given, and counts what it lost", () => {
    let left = 100_000;
    const claim = (bytes: number) => {
      if (bytes > left) return false;
      left -= bytes;
      return true;
    };
    const output = new CapturedOutput(16 << 20, claim);
    for (let i = 0; i < 30; i++) write(output, 1, Buffer.alloc(10_000, 120));
    expect(output.keptBytes).toBeGreaterThan(80_000);
    expect(output.keptBytes).toBeLessThanOrEqual(100_000);
    expect(output.keptBytes + output.droppedBytes).toBe(300_000);
  });

  it("is lent in pieces that are the whole when put together", () => {
    const output = new CapturedOutput(16 << 20);
    for (let i = 0; i < 50; i++) write(output, i % 3 === 0 ? 2 : 1, `<${"y".repeat(i)}>`);
    for (const stream of [undefined, 1, 2] as const) {
      const parts = [...output.parts(stream, 7)];
      expect(Math.max(...parts.map(({ length }) => length))).toBeLessThanOrEqual(7);
      expect(Buffer.concat(parts)).toEqual(output.bytes(stream));
    }
  });
});
