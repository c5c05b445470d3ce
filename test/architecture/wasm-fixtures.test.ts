/** A Rust without the target for WebAssembly has modules of the sources as they are, and no others. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { moduleFile } from "../support/wasm-modules.js";

const folder = "test/fixtures/wasm";

it("each source of a module has its compiled form beside it", () => {
  const sources = readdirSync(folder).filter((name) => name.endsWith(".rs"));
  const wanted = sources.map((name) => moduleFile(name.slice(0, -3), readFileSync(join(folder, name))));
  expect(readdirSync(join(folder, "compiled")).sort()).toEqual(wanted.sort());
});
