import fc from "fast-check";
import { expect, test } from "vitest";
import { decodeHead, encodeHead, HEAD_BYTES } from "./head.js";
import { decodeLine, encodeLine, NO_HASH } from "./line.js";

const envelope = { seq: 1, time: "2030-01-01T00:00:00.000Z", writer: "w", type: "exec.start" };

test("a line says again what went into it", () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: "binary" })), (argv) => {
      const { text, hash } = encodeLine(envelope, { argv }, NO_HASH);
      expect(text.indexOf("\n")).toBe(text.length - 1);
      const { line, claimed } = decodeLine(text.slice(0, -1));
      expect(claimed).toBe(hash);
      expect(line).toMatchObject({ ...envelope, prev: NO_HASH, hash });
      // Halves of characters come back as they are, since JSON can say them.
      expect(line?.fields.argv).toEqual(argv);
    }),
  );
});

test("no single character of it can be changed", () => {
  const { text } = encodeLine(envelope, { argv: ["npm", "test"], code: 1 }, NO_HASH);
  const line = text.slice(0, -1);
  for (let at = 0; at < line.length; at++) {
    const changed = `${line.slice(0, at)}${line[at] === "0" ? "1" : "0"}${line.slice(at + 1)}`;
    expect(decodeLine(changed).line).toBeNull();
  }
});

// THREATS P8
test("a line printed as it is steers no terminal", () => {
  const { text } = encodeLine(envelope, { argv: ["\u001b]0;x\u0007\u009b1m\u202e"] }, NO_HASH);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
  expect(text.slice(0, -1)).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202e]/);
});

test("a head is always of one size, and a changed one is none", () => {
  const head = { file: 12, bytes: 2 ** 40, begun: 2 ** 42, seq: 2 ** 50, hash: "f".repeat(64), boot: "0123456789ab" };
  const bytes = encodeHead(head);
  expect(bytes).toHaveLength(HEAD_BYTES);
  expect(decodeHead(bytes.toString())).toEqual(head);
  expect(decodeHead(bytes.toString().replace('"file":12', '"file":13'))).toBeNull();
  expect(decodeHead(bytes.toString().slice(0, 100))).toBeNull();
  expect(decodeHead("")).toBeNull();
});
