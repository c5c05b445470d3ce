import { Buffer } from "node:buffer";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Scrollback } from "./scrollback.js";

describe("what a terminal has shown", () => {
  it("is held up to its last bytes, whatever pieces it came in", () => {
    fc.assert(
      fc.property(
        fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 60 }),
        fc.integer({ min: 0, max: 400 }),
        (pieces, asked) => {
          const scrollback = new Scrollback(257);
          const all = Buffer.concat(pieces.map((piece) => Buffer.from(piece)));
          for (const piece of pieces) scrollback.push(Buffer.from(piece));
          expect(scrollback.last().equals(all.subarray(-257))).toBe(true);
          const some = Math.min(asked, 257, all.length);
          expect(scrollback.last(asked).equals(all.subarray(all.length - some))).toBe(true);
          expect(scrollback.isCut).toBe(all.length > 257);
          expect(scrollback.isEmpty).toBe(all.length === 0);
        },
      ),
    );
  });
});
