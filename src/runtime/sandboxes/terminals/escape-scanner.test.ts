import { Buffer } from "node:buffer";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { EscapeScanner } from "./escape-scanner.js";

function found(pieces: readonly Buffer[]): string[] {
  const scanner = new EscapeScanner();
  const all: string[] = [];
  for (const piece of pieces) scanner.scan(piece, ({ kind, body }) => all.push(`${kind} ${body}`));
  return all;
}

const text = "a\x1b[1;31mred\x1b[m \x1b]0;title\x07\x1b]11;?\x1b\\b\x1b(B\x1b=\x1bPq#0\x1b\\ü\x1b[?1049hend";
const sequences = [
  "csi [1;31m",
  "csi [m",
  "string ]0;title",
  "string ]11;?",
  "escape (B",
  "escape =",
  "string Pq#0",
  "csi [?1049h",
];

describe("escape sequences", () => {
  it("are found, however the bytes are cut", () => {
    const bytes = Buffer.from(text);
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 60, maxLength: 60 }), (sizes) => {
        const pieces: Buffer[] = [];
        let at = 0;
        for (const size of sizes) {
          pieces.push(bytes.subarray(at, at + size));
          at += size;
        }
        pieces.push(bytes.subarray(at));
        expect(found(pieces)).toEqual(sequences);
      }),
    );
  });

  it("lie where they are said to", () => {
    const bytes = Buffer.from(text);
    const cut: string[] = [];
    new EscapeScanner().scan(bytes, ({ start, end }) => cut.push(bytes.subarray(start, end).toString()));
    expect(cut.slice(0, 4)).toEqual(["\x1b[1;31m", "\x1b[m", "\x1b]0;title\x07", "\x1b]11;?\x1b\\"]);
  });

  it("that began in an earlier piece start below zero", () => {
    const scanner = new EscapeScanner();
    scanner.scan(Buffer.from("ab\x1b[1"), () => {});
    expect(scanner.isInside).toBe(true);
    const starts: number[] = [];
    scanner.scan(Buffer.from("2n"), ({ start }) => starts.push(start));
    expect(starts).toEqual([-3]);
    expect(scanner.isInside).toBe(false);
  });

  it("are given up where another begins, or they are cancelled", () => {
    expect(found([Buffer.from("\x1b[1\x1b[2mx\x1b[3\x18m\x1b]0;never\x1a!\x1b[4m")])).toEqual(["csi [2m", "csi [4m"]);
  });

  it("that never end take no memory", () => {
    const scanner = new EscapeScanner();
    for (let round = 0; round < 50; round++) scanner.scan(Buffer.alloc(65_536, 0x41), () => {});
    scanner.scan(Buffer.from("\x1b]"), () => {});
    for (let round = 0; round < 50; round++) scanner.scan(Buffer.alloc(65_536, 0x41), () => {});
    const told: string[] = [];
    scanner.scan(Buffer.from("\x07\x1b[m"), ({ body }) => told.push(body));
    expect(told).toEqual(["[m"]);
  });
});
