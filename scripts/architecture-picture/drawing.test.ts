import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { drawing } from "./drawing.js";

test("the picture of the architecture is what its script draws (scripts/write-architecture-picture.mjs)", () => {
  expect(readFileSync("docs/pictures/architecture.svg", "utf8")).toBe(drawing());
});
