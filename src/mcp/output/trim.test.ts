import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { trimMiddle } from "./trim.js";

const note = (cut: number) => `CUT ${cut}`;

describe("output that is too long", () => {
  it("is left as it is where it fits", () => {
    expect(trimMiddle(Buffer.from("short"), 5, note)).toEqual({ text: "short", cutBytes: 0 });
  });

  it("loses whole lines from its middle", () => {
    const lines = Array.from({ length: 1000 }, (_, index) => `line ${index}\n`).join("");
    const { text, cutBytes } = trimMiddle(Buffer.from(lines), 400, note);
    const [head = "", tail = ""] = text.split(`\n… CUT ${cutBytes} …\n`);
    expect(lines.startsWith(head)).toBe(true);
    expect(lines.endsWith(tail)).toBe(true);
    expect(head).toMatch(/^line 0\n(line \d+\n)+$/);
    expect(tail).toMatch(/^(line \d+\n)+$/);
    expect(Buffer.byteLength(head) + Buffer.byteLength(tail) + cutBytes).toBe(lines.length);
  });

  it("keeps whole characters and accounts for every byte", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", minLength: 40, maxLength: 400 }), (content) => {
        const bytes = Buffer.from(content);
        const { text, cutBytes } = trimMiddle(bytes, 32, note);
        if (bytes.length <= 32) return expect(text).toBe(content);
        const marker = `\n… CUT ${cutBytes} …\n`;
        const at = text.indexOf(marker);
        const [head, tail] = [text.slice(0, at), text.slice(at + marker.length)];
        expect(content.startsWith(head)).toBe(true);
        expect(content.endsWith(tail)).toBe(true);
        expect(Buffer.byteLength(head) + cutBytes + Buffer.byteLength(tail)).toBe(bytes.length);
      }),
    );
  });
});
