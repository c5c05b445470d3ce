/** Files come with projects, and a project may be hostile: whatever is in them is an answer or a fault, and soon. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readConfigFile } from "./config-file.js";
import type { Located } from "./located.js";
import { readPolicyFile } from "./policy-file.js";

const readers = {
  "a.toml": (bytes: Uint8Array) => readConfigFile({ name: "a.toml", bytes }, "project"),
  "a.yaml": (bytes: Uint8Array) => readPolicyFile({ name: "a.yaml", bytes }, "/p"),
  "a.json": (bytes: Uint8Array) => readPolicyFile({ name: "a.json", bytes }, "/p"),
};
const names = Object.keys(readers) as (keyof typeof readers)[];

describe.each(names)("%s", (name) => {
  const read = async (text: string | Uint8Array) => (await readers[name](Buffer.from(text))).faults[0];

  test.each<[string, string | Uint8Array, RegExp]>([
    ["a byte order mark", "\ufeffversion = 1", /byte order mark/],
    ["a NUL character", "a\n\0", /NUL/],
    ["bytes that are not UTF-8", new Uint8Array([0x61, 0xff]), /not UTF-8/],
    ["more than a mebibyte", "#".repeat(1024 * 1024 + 1), /larger than/],
    ["brackets without end", "[".repeat(500_000), /nested too deep/],
    ["braces without end", `a: ${"{a: ".repeat(100_000)}`, /nested too deep/],
  ])("%s", async (_what, text, message) => {
    expect((await read(text))?.message).toMatch(message);
  });

  test("any bytes are understood or have a fault with a place, and nothing is thrown", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(fc.uint8Array({ maxLength: 300 }), fc.string({ maxLength: 300, unit: "binary" })),
        async (bytes) => {
          const { value, faults } = await readers[name](Buffer.from(bytes));
          expect(value === null).toBe(faults.length > 0);
          for (const { line, column } of faults) expect(Math.min(line, column)).toBeGreaterThanOrEqual(1);
        },
      ),
      { numRuns: 300 },
    );
  });
});

test("nesting by indentation or dashes has an end too", async () => {
  const dashes = await readers["a.yaml"](Buffer.from("- ".repeat(200_000)));
  expect(dashes.faults).toHaveLength(1);
  const deep = Array.from({ length: 1200 }, (_, depth) => `${" ".repeat(depth)}a:`).join("\n");
  expect((await readers["a.yaml"](Buffer.from(deep))).faults.length).toBeGreaterThan(0);
});

test("an alias bomb is refused at its first anchor", async () => {
  const levels = Array.from({ length: 30 }, (_, n) => `a${n}: &a${n} [${n === 0 ? "x" : `*a${n - 1}, *a${n - 1}`}]`);
  const { faults } = await readers["a.yaml"](Buffer.from(`version: 1\n${levels.join("\n")}`));
  expect(faults).toMatchObject([{ line: 2, message: expect.stringContaining("anchor") }]);
});

test("many keys take a time that grows with their number alone", async () => {
  const keys = Array.from({ length: 50_000 }, (_, n) => `k${n}: 1`).join("\n");
  const startedAt = performance.now();
  expect((await readers["a.yaml"](Buffer.from(keys))).faults.length).toBeGreaterThan(1000);
  expect(performance.now() - startedAt).toBeLessThan(10_000);
});

test("a policy that is valid but for one character is never taken in part", async () => {
  const text =
    "version: 1\nnet:\n  egress: allowlist\n  allow: [ { domain: a.example } ]\n  deny: [ { domain: b.example } ]\n";
  await fc.assert(
    fc.asyncProperty(
      fc.nat(text.length - 1),
      fc.constantFrom("", "x", ":", "]", "}", '"', "\t", "*", "&"),
      async (at, insert) => {
        const { value, faults } = await readers["a.yaml"](Buffer.from(text.slice(0, at) + insert + text.slice(at + 1)));
        expect(faults.length > 0 ? value : []).toEqual(faults.length > 0 ? null : []);
      },
    ),
  );
});

test("JSON is read as JavaScript reads it, or not at all", async () => {
  const { locateJson } = await import("./json-text.js");
  const plain = (node: Located): unknown => {
    if (node.kind === "scalar") return node.value;
    if (node.kind === "list") return node.items.map(plain);
    return Object.fromEntries([...node.entries].map(([key, { value }]) => [key, plain(value)]));
  };
  fc.assert(
    fc.property(fc.jsonValue(), fc.constantFrom(undefined, 1, "\t"), (value, indent) => {
      const text = JSON.stringify(value, null, indent);
      expect(plain(locateJson(text))).toEqual(JSON.parse(text));
    }),
  );
  fc.assert(
    fc.property(
      fc.jsonValue(),
      fc.nat(),
      fc.constantFrom("", ",", "]", "'", "\n", "0", "\\"),
      (value, where, insert) => {
        const whole = JSON.stringify(value);
        const at = where % whole.length;
        const text = whole.slice(0, at) + insert + whole.slice(at + 1);
        const attempt = (parse: (text: string) => unknown) => {
          try {
            return { value: parse(text) };
          } catch {
            return null;
          }
        };
        const theirs = attempt(JSON.parse);
        const ours = attempt((one) => plain(locateJson(one)));
        // Keys that are there twice are a fault for us alone.
        if (theirs === null || ours !== null) expect(ours).toEqual(theirs);
      },
    ),
    { numRuns: 500 },
  );
});
