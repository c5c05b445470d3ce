import fc from "fast-check";
import { expect, it } from "vitest";
import { parseChallenge } from "./challenge.js";

it.each<[string, unknown]>([
  [
    'Bearer realm="https://auth.example/token",service="registry.example",scope="repository:a/b:pull,push"',
    {
      scheme: "bearer",
      realm: "https://auth.example/token",
      service: "registry.example",
      scope: "repository:a/b:pull,push",
    },
  ],
  ["bearer realm=https://a/b", { scheme: "bearer", realm: "https://a/b", service: null, scope: null }],
  ['Basic realm="Registry"', { scheme: "basic" }],
  [
    'Basic realm="x", Bearer realm="https://a/t"',
    { scheme: "bearer", realm: "https://a/t", service: null, scope: null },
  ],
  [
    'Bearer realm="https://a/t",realm="https://b/t"',
    { scheme: "bearer", realm: "https://a/t", service: null, scope: null },
  ],
  ['Bearer realm="a\\"b"', { scheme: "bearer", realm: 'a"b', service: null, scope: null }],
  ["Bearer", null],
  ["Negotiate", null],
  ["", null],
  ['Bearer realm="unclosed', null],
])("the challenge %s is understood", (header, challenge) => {
  expect(parseChallenge(header)).toEqual(challenge);
});

it("a challenge of any text is read without failing", () => {
  const text = fc.string({ unit: fc.constantFrom(...'Bearer realm="\\,= x'.split("")), maxLength: 60 });
  fc.assert(fc.property(fc.oneof(text, fc.string()), (header) => parseChallenge(header) !== undefined));
  expect(parseChallenge(`Bearer ${"a".repeat(5000)}`)).toBeNull();
});
