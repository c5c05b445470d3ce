import { Buffer } from "node:buffer";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isAgentKernelError } from "../../core/errors.js";
import { type Json, parseJson } from "./json-text.js";
import { dictionary, field, object, optional } from "./object-shape.js";
import { choice, flag, list, nullable, oneOf, text, whole } from "./shapes.js";

const parse = (source: string) => parseJson(Buffer.from(source));

function fieldOf(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    if (isAgentKernelError(error)) return error.details.field;
    throw error;
  }
  return "none";
}

function plain(value: Json): unknown {
  if (value instanceof Map) return Object.fromEntries([...value].map(([key, inner]) => [key, plain(inner)]));
  return Array.isArray(value) ? value.map(plain) : value;
}

describe("a body's text", () => {
  it("means what JSON.parse says it means", () => {
    const unequal = fc.jsonValue({ maxDepth: 5 }).filter((value) => !JSON.stringify(value).includes("__proto__"));
    fc.assert(
      fc.property(unequal, (value) => {
        const source = JSON.stringify(value);
        expect(plain(parse(source))).toEqual(JSON.parse(source));
      }),
    );
  });

  it("is refused where JSON.parse refuses it", () => {
    const nearly = fc
      .tuple(fc.jsonValue(), fc.nat(), fc.constantFrom("", ",", '"', "\\", "}", "]", "\u0001"))
      .map(([value, at, change]) => {
        const source = JSON.stringify(value);
        const index = at % (source.length + 1);
        return source.slice(0, index) + change + source.slice(index + 1);
      });
    fc.assert(
      fc.property(nearly, (source) => {
        let isJson = true;
        try {
          JSON.parse(source);
        } catch {
          isJson = false;
        }
        if (!isJson) expect(() => parse(source)).toThrow();
      }),
    );
  });

  it("holds a text of megabytes with escapes", () => {
    const long = 'a"\\\n☃'.repeat(1_000_000);
    expect(parse(JSON.stringify([long]))).toEqual([long]);
  });

  it("is refused for a key that is there twice, nesting without end, and numbers beyond all", () => {
    expect(fieldOf(() => parse('{"a":1,"a":2}'))).toBe("a");
    expect(() => parse("[".repeat(100_000))).toThrow(/nested deeper/);
    expect(() => parse("[1e999]")).toThrow(/too large/);
    expect(() => parse("NaN")).toThrow(/a value is expected/);
    expect(() => parse("\ufeff{}")).toThrow();
  });
});

const shape = object({
  command: field(list(text({ pattern: /^[^!]*$/ }), { minItems: 1 }), "Words."),
  size: optional(nullable(whole({ min: 1, max: 5 })), "A size."),
  mode: optional(choice(["open", "shut"]), "A mode."),
  net: optional(oneOf<unknown>("a switch or a list", { "true or false": flag(), "a list": list(text()) }), "A net."),
  env: optional(dictionary({ pattern: /^[A-Z]+$/, expected: "a name" }, text()), "Variables."),
});

describe("a shape", () => {
  it("gives what was sent, and only that", () => {
    const read = shape.read(parse('{"command":["a"],"size":null,"net":["x"],"env":{"A":"b"}}'), "");
    expect(read).toEqual({ command: ["a"], size: null, net: ["x"], env: new Map([["A", "b"]]) });
  });

  it.each([
    ["{}", "command"],
    ['{"command":[]}', "command"],
    ['{"command":["a","b!"]}', "command[1]"],
    ['{"command":["a"],"size":6}', "size"],
    ['{"command":["a"],"size":1.5}', "size"],
    ['{"command":["a"],"mode":"opn"}', "mode"],
    ['{"command":["a"],"net":"x"}', "net"],
    ['{"command":["a"],"net":[1]}', "net[0]"],
    ['{"command":["a"],"env":{"a":"b"}}', "env"],
    ['{"command":["a"],"env":{"A":1}}', "env.A"],
    ['{"command":["a"],"toString":1}', "toString"],
    ["[]", "body"],
  ])("names the field that is wrong in %s", (source, name) => {
    expect(fieldOf(() => shape.read(parse(source), ""))).toBe(name);
  });

  it("says what was likely meant", () => {
    expect(() => shape.read(parse('{"command":["a"],"mode":"opn"}'), "")).toThrow(
      expect.objectContaining({ hint: 'did you mean "open"?' }),
    );
    expect(() => shape.read(parse('{"comand":["a"],"command":["a"]}'), "")).toThrow(
      expect.objectContaining({ hint: "did you mean command?" }),
    );
  });
});

describe("a field with a name that is nearly right", () => {
  it("is named before the one that is missing for it", () => {
    const shape = object({ command: field(list(text()), "What is run."), cwd: optional(text(), "Where.") });
    expect(() => shape.read(parse('{"comand":["x"]}'), "")).toThrow(
      expect.objectContaining({
        message: expect.stringContaining("comand is not a field that is known"),
        hint: "did you mean command?",
      }),
    );
    expect(() => shape.read(parse("{}"), "")).toThrow(/command is missing/);
  });
});
