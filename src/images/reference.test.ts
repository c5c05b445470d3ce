import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { canonicalForm, familiarForm, type ImageReference, parseReference } from "./reference.js";

const digest = `sha256:${"0123456789abcdef".repeat(4)}` as const;

describe("a reference", () => {
  it.each<[string, string, string]>([
    ["python", "docker.io/library/python:latest", "python:latest"],
    ["python:3.12-alpine", "docker.io/library/python:3.12-alpine", "python:3.12-alpine"],
    ["nickblah/lua:5.4", "docker.io/nickblah/lua:5.4", "nickblah/lua:5.4"],
    ["docker.io/python", "docker.io/library/python:latest", "python:latest"],
    ["index.docker.io/library/python:3", "docker.io/library/python:3", "python:3"],
    ["mcr.microsoft.com/dotnet/sdk:8.0", "mcr.microsoft.com/dotnet/sdk:8.0", "mcr.microsoft.com/dotnet/sdk:8.0"],
    ["localhost/app", "localhost/app:latest", "localhost/app:latest"],
    ["localhost:5000/app", "localhost:5000/app:latest", "localhost:5000/app:latest"],
    ["127.0.0.1:5000/a/b:1", "127.0.0.1:5000/a/b:1", "127.0.0.1:5000/a/b:1"],
    ["[::1]:5000/a:1", "[::1]:5000/a:1", "[::1]:5000/a:1"],
    ["Example.COM/a:1", "example.com/a:1", "example.com/a:1"],
    ["localhost", "docker.io/library/localhost:latest", "localhost:latest"],
    [`python@${digest}`, `docker.io/library/python@${digest}`, `python@${digest}`],
    [`a.b:1/c:t@${digest}`, `a.b:1/c:t@${digest}`, `a.b:1/c:t@${digest}`],
    ["docker.io/a__b-c.d/e---f:_x", "docker.io/a__b-c.d/e---f:_x", "docker.io/a__b-c.d/e---f:_x"],
    ["host", "docker.io/library/host:latest", "library/host:latest"],
  ])("%s is %s", (text, canonical, familiar) => {
    const reference = parseReference(text);
    expect(canonicalForm(reference)).toBe(canonical);
    expect(familiarForm(reference)).toBe(familiar);
  });

  it.each<[string, RegExp]>([
    ["", /empty/],
    ["-rf", /dash/],
    ["--privileged", /dash/],
    ["a b", /blank/],
    ["a\nb", /blank, a control/],
    ["a\u0000", /control/],
    ["\u001b[2Jx", /\\x1b/],
    ["pythön", /ASCII/],
    ["https://example.com/a", /URL/],
    ["Python", /lower case/],
    ["Foo/bar", /lower case/],
    ["a:", /tag/],
    ["a:-x", /tag/],
    [`a:${"t".repeat(129)}`, /tag/],
    ["a@sha512:00", /sha256/],
    [`a@${digest.toUpperCase()}`, /sha256/],
    [`a@${digest}@${digest}`, /more than one/],
    ["a@", /sha256/],
    ["a..b", /joined by/],
    ["a___b", /joined by/],
    ["a/", /joined by/],
    ["/a", /joined by/],
    ["a//b", /joined by/],
    ["../../etc/passwd", /registry host/],
    ["localhost:5000/../x", /joined by/],
    ["localhost:0/x", /registry host/],
    ["localhost:65536/x", /registry host/],
    ["localhost:0443/x", /registry host/],
    ["user:pass@example.com/x", /sha256/],
    ["-example.com/x", /dash/],
    ["exa_mple.com/x", /registry host/],
    ["$(id)", /joined by/],
    ["0123456789abcdef".repeat(4), /identifier/],
    [`${"a".repeat(250)}/b`, /longer than 255/],
    ["a".repeat(600), /longer than 512/],
  ])("%j is refused", (text, message) => {
    expect(() => parseReference(text)).toThrow(message);
  });

  it("that is refused says so with a code and what to do", () => {
    expect(() => parseReference("Python")).toThrow(
      expect.objectContaining({ code: "invalid_argument", hint: "did you mean python?" }),
    );
  });
});

const word = fc.stringMatching(/^[a-z0-9]{1,8}$/);
const component = fc
  .tuple(word, fc.array(fc.tuple(fc.constantFrom(".", "_", "__", "-", "---"), word), { maxLength: 2 }))
  .map(([first, rest]) => first + rest.flat().join(""));
const references: fc.Arbitrary<ImageReference> = fc
  .record({
    registry: fc.constantFrom("docker.io", "localhost", "localhost:5000", "example.com", "10.0.0.1:80", "[::1]:5000"),
    path: fc.array(component, { minLength: 1, maxLength: 4 }),
    tag: fc.option(fc.stringMatching(/^[A-Za-z0-9_][A-Za-z0-9_.-]{0,20}$/)),
    withDigest: fc.boolean(),
  })
  .map(({ registry, path, tag, withDigest }) => ({
    registry,
    repository: (registry === "docker.io" && path.length === 1 ? ["library", ...path] : path).join("/"),
    tag: tag ?? (withDigest ? null : "latest"),
    digest: withDigest ? digest : null,
  }));

describe("any reference", () => {
  it("comes back from its canonical and from its familiar form", () => {
    fc.assert(
      fc.property(references, (reference) => {
        expect(parseReference(canonicalForm(reference))).toEqual(reference);
        expect(parseReference(familiarForm(reference))).toEqual(reference);
      }),
    );
  });

  it("that is accepted is safe as an argument and has no way up in its path", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(..."ab./:@-_A \n".split("")) }), (text) => {
        let parsed: ImageReference;
        try {
          parsed = parseReference(text);
        } catch (error) {
          expect(error).toMatchObject({ code: "invalid_argument" });
          return;
        }
        expect(canonicalForm(parsed)).toMatch(/^[a-z0-9[][\x21-\x7e]*$/);
        expect(parsed.repository.split("/")).not.toContain("..");
        expect(parseReference(familiarForm(parsed))).toEqual(parsed);
      }),
    );
  });
});
