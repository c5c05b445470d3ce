import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { errorTable } from "../core/errors.js";
import { version } from "../core/version.js";
import { openApiDocument, openApiText } from "./openapi.js";

describe("the published description", () => {
  test("is what requests are checked by (npm run openapi writes it)", () => {
    expect(readFileSync("spec/openapi.json", "utf8")).toBe(openApiText(version));
  });

  const document = JSON.parse(openApiText(version));
  const all = Object.values(document.paths as object).flatMap((methods) => Object.values(methods as object));

  test("names every schema that it refers to", () => {
    const references = JSON.stringify(document).match(/#\/components\/schemas\/\w+/g) ?? [];
    const known = Object.keys(openApiDocument(version).components as object);
    expect(known).toContain("schemas");
    for (const reference of new Set(references)) {
      expect(document.components.schemas).toHaveProperty(reference.split("/").at(-1) ?? "");
    }
  });

  test("gives each operation its own id, and each error the one form", () => {
    const ids = all.map(({ operationId }) => operationId);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { responses } of all) {
      for (const [status, { content }] of Object.entries(responses as Record<string, { content: never }>)) {
        if (Number(status) < 400) continue;
        expect(content["application/json"]).toEqual({ schema: { $ref: "#/components/schemas/Failure" } });
      }
    }
  });

  test("has no status of an error that the table of errors does not", () => {
    const statuses = new Set(Object.values(errorTable).map(({ http }) => http));
    for (const { responses } of all) {
      for (const status of Object.keys(responses).map(Number)) {
        if (status >= 400) expect(statuses).toContain(status);
      }
    }
  });

  test("describes every field of every body", () => {
    const visit = (node: unknown, path: string): void => {
      if (typeof node !== "object" || node === null) return;
      if ("properties" in node && !("success" in (node.properties as object))) {
        for (const [key, inner] of Object.entries(node.properties as object)) {
          expect((inner as { description?: string }).description, `${path}.${key}`).toMatch(/[.]$/);
        }
      }
      for (const [key, inner] of Object.entries(node)) visit(inner, `${path}.${key}`);
    };
    visit(document.components.schemas, "schemas");
  });
});
