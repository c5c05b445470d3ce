import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { publishedSchemas, schemaText } from "./json-schema.js";

describe.each(publishedSchemas)("$file", ({ file, schema }) => {
  test("is what the parser's table says (npm run schemas writes it)", () => {
    expect(readFileSync(join("spec", "schemas", file), "utf8")).toBe(schemaText(schema));
  });

  test("knows no other keys, and describes each", () => {
    const visit = (node: unknown, path: string): void => {
      if (typeof node !== "object" || node === null || !("properties" in node)) return;
      expect(node, path).toMatchObject({ additionalProperties: false });
      for (const [key, inner] of Object.entries(node.properties as object)) {
        expect((inner as { description?: string }).description, `${path}.${key}`).toMatch(/\.$/);
        visit(inner, `${path}.${key}`);
      }
    };
    visit(schema, file);
  });
});
