import fc from "fast-check";
import { expect, test } from "vitest";
import { TokenScanner } from "./token-scanner.js";

const token = Buffer.from("aab0aab1");

test("the token is found however the stream is cut, and nothing of the rest is lost", () => {
  const text = fc.string({ unit: fc.constantFrom("a", "b", "0", "x"), maxLength: 40 });
  fc.assert(
    fc.property(text, text, fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1 }), (before, after, cuts) => {
      const scanner = new TokenScanner(token);
      const stream = Buffer.concat([Buffer.from(before), token, Buffer.from(after)]);
      const found: Buffer[] = [];
      let rest: Buffer | null = null;
      for (let at = 0, cut = 0; at < stream.length; cut++) {
        const piece = stream.subarray(at, at + (cuts[cut % cuts.length] ?? 1));
        at += piece.length;
        if (rest !== null) {
          rest = Buffer.concat([rest, piece]);
          continue;
        }
        const scanned = scanner.scan(piece);
        found.push(Buffer.from(scanned.before));
        rest = scanned.after;
      }
      expect(Buffer.concat(found).toString()).toBe(before);
      expect(rest?.toString()).toBe(after);
    }),
  );
});

test("what cannot be its beginning is passed on at once", () => {
  const scanner = new TokenScanner(token);
  expect(scanner.scan(Buffer.from("hello aab")).before.toString()).toBe("hello ");
  expect(scanner.scan(Buffer.from("c")).before.toString()).toBe("aabc");
});
