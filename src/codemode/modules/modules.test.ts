import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Catalog, ToolSchema } from "../servers/index.js";
import { ModuleCache } from "./index.js";
import { camelName, snakeName, uniqueNames } from "./names.js";
import { typeOf } from "./schema-type.js";

const catalog = (...tools: Partial<ToolSchema>[]): Catalog => ({
  server: "demo",
  module: "demo",
  hash: JSON.stringify(tools),
  tools: tools.map((tool) => ({ name: "t", description: "", inputSchema: {}, outputSchema: undefined, ...tool })),
});

describe("types of schemas", () => {
  it.each([
    [{ type: "string" }, "string"],
    [{ type: ["integer", "null"] }, "number | null"],
    [{ enum: ["a", 1, null] }, '"a" | 1 | null'],
    [{ anyOf: [{ type: "string" }, { type: "array", items: { enum: ["x", "y"] } }] }, 'string | ("x" | "y")[]'],
    [
      { type: "object", properties: { a: { type: "string" }, "b-c": {} }, required: ["a"] },
      '{\n  a: string;\n  "b-c"?: unknown;\n}',
    ],
    [{ type: "object", additionalProperties: { type: "number" } }, "Record<string, number>"],
    [{ $ref: "#/$defs/x", $defs: { x: { const: true } } }, "true"],
    [{ $ref: "#/$defs/x", $defs: { x: { type: "array", items: { $ref: "#/$defs/x" } } } }, "unknown[]"],
    [
      {
        allOf: [
          { type: "object", properties: { a: { type: "string" } } },
          { type: "object", properties: { b: {} } },
        ],
      },
      "{\n  a?: string;\n} & {\n  b?: unknown;\n}",
    ],
    [{ type: "array", prefixItems: [{ type: "string" }, { type: "number" }] }, "[string, number]"],
    ["nonsense", "unknown"],
  ])("%j", (schema, type) => {
    expect(typeOf(schema)).toBe(type);
  });

  it("are bounded whatever a server sends", () => {
    let deep: object = { type: "string" };
    for (let depth = 0; depth < 5000; depth++) deep = { type: "array", items: deep };
    expect(typeOf(deep).length).toBeLessThan(100);
    const wide = {
      $defs: {
        x: { anyOf: Array.from({ length: 50 }, () => ({ type: "array", items: { $ref: "#/$defs/y" } })) },
        y: { anyOf: Array.from({ length: 50 }, (_, n) => ({ const: n })) },
      },
      $ref: "#/$defs/x",
    };
    expect(typeOf(wide).length).toBeLessThan(20_000);
    fc.assert(fc.property(fc.jsonValue({ maxDepth: 6 }), (schema) => typeof typeOf(schema) === "string"));
  });
});

describe("modules", () => {
  it("are the same text for the same tools, in whatever order names collide", () => {
    const cache = new ModuleCache(null);
    const demo = catalog({ name: "get_user" }, { name: "getUser" }, { name: "delete" }, { name: "2fa" });
    const { javascript } = cache.typescript(demo);
    expect(javascript).toBe(new ModuleCache(null).typescript(demo).javascript);
    expect(cache.typescript(demo)).toBe(cache.typescript({ ...demo }));
    for (const name of ["getUser ", "getUser_2 ", "delete_ ", "tool_2fa "])
      expect(javascript).toContain(`const ${name}`);
  });

  it("let nothing that a server says become code", () => {
    const hostile = '*/ process.exit(1) /* \n"""\\"; import os #\u2028';
    const demo = catalog({
      name: 'x"); process.exit(); ("',
      description: hostile,
      inputSchema: { type: "object", properties: { [hostile]: { description: hostile } } },
    });
    const cache = new ModuleCache(null);
    const { javascript, declarationFile } = cache.typescript(demo);
    const { source } = cache.python(demo);
    for (const [comment] of declarationFile.matchAll(/\/\*\*.*/g))
      expect(comment.indexOf("*/")).toBe(comment.length - 2);
    expect(declarationFile).not.toContain("\u2028");
    expect(javascript.split("\n").filter((line) => line !== "")).toHaveLength(2);
    expect(javascript).toContain('call("demo", "x\\"); process.exit(); (\\"", args);');
    expect(source.split("\n").filter((line) => line.startsWith('    "'))).toHaveLength(1);
    expect(source).not.toMatch(/^import os/m);
  });

  it("of Python take arguments by name", () => {
    const inputSchema = {
      type: "object",
      properties: { owner: { type: "string" }, state: { enum: ["open"] }, class: {}, "a-b": {} },
      required: ["owner"],
    };
    const { declarations } = new ModuleCache(null).python(catalog({ name: "listIssues", inputSchema }));
    expect(declarations.get("listIssues")).toBe(
      'def list_issues(*, owner: str, state: Literal["open"] | None = None, **more: Any) -> Any:\n    ...\n',
    );
  });

  it("have names that are unique and fit the language", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ maxLength: 12 }), { maxLength: 20 }), (words) => {
        for (const make of [camelName, snakeName]) {
          const names = [...uniqueNames(words, make).values()];
          expect(new Set(names).size).toBe(names.length);
          for (const name of names) expect(name).toMatch(/^[A-Za-z_][A-Za-z0-9_]*$/);
        }
      }),
    );
  });
});
