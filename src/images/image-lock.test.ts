import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isAgentKernelError } from "../core/errors.js";
import { digestOf } from "./digest.js";
import { formatLock, lockedReference, parseLock } from "./image-lock.js";
import { canonicalForm, parseReference } from "./reference.js";

const [one, two] = [digestOf("1"), digestOf("2")];
const read = (text: string) => parseLock(Buffer.from(text), "/p/agentkernel.lock");

describe("a lock", () => {
  it("is written sorted, in short names, and reads back as it was", () => {
    const lock = new Map([
      ["docker.io/library/python:3.12-alpine", one],
      ["docker.io/library/node:22-alpine", two],
    ] as const);
    const text = formatLock(lock);
    expect(text).toBe(
      `{\n  "version": 1,\n  "images": {\n    "node:22-alpine": { "digest": "${two}" },\n    "python:3.12-alpine": { "digest": "${one}" }\n  }\n}\n`,
    );
    expect(read(text)).toEqual(lock);
    expect(read(formatLock(new Map()))).toEqual(new Map());
  });

  it("gives a reference its digest, under every way to write the name", () => {
    const lock = read(`{"version":1,"images":{"python":{"digest":"${one}"}}}`);
    for (const name of ["python", "python:latest", "docker.io/library/python"]) {
      expect(lockedReference(lock, parseReference(name)).digest).toBe(one);
    }
    const other = parseReference("python:3");
    expect(lockedReference(lock, other)).toBe(other);
    const outright = parseReference(`python@${two}`);
    expect(lockedReference(lock, outright)).toBe(outright);
  });

  it.each([
    ["", /not the JSON/],
    ["[]", /not the JSON/],
    ["<<<<<<< HEAD", /not the JSON/],
    ['{"version":2,"images":{}}', /version that is not known: 2/],
    ['{"version":1}', /no table "images"/],
    ['{"version":1,"images":{},"more":1}', /unknown key "more"/],
    ['{"version":1,"images":{"a":{"digest":"sha256:12"}}}', /no digest .* for "a"/],
    [`{"version":1,"images":{"A B":{"digest":"${one}"}}}`, /no image with a tag/],
    [`{"version":1,"images":{"a@${one}":{"digest":"${one}"}}}`, /no image with a tag/],
    [`{"version":1,"images":{"a":{"digest":"${one}"},"a:latest":{"digest":"${two}"}}}`, /twice/],
    [`{"version":1,"images":{}}${" ".repeat(1_100_000)}`, /larger than/],
  ])("that reads %.40j is an error that names the file", (text, message) => {
    expect(() => read(text)).toThrow(message);
    expect(() => read(text)).toThrow(/agentkernel\.lock/);
  });

  it("of any JSON is a lock or one kind of error", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.json(),
          fc.record({ version: fc.constant(1), images: fc.jsonValue() }).map((v) => JSON.stringify(v)),
        ),
        (text) => {
          try {
            for (const [name, digest] of read(text))
              expect([canonicalForm(parseReference(name)), digest]).toEqual([name, expect.stringMatching(/^sha256:/)]);
          } catch (error) {
            expect(isAgentKernelError(error)).toBe(true);
          }
        },
      ),
    );
  });
});
