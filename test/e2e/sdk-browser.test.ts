import { join } from "node:path";
import { build } from "esbuild";
import { beforeAll, expect, it } from "vitest";
import { repository } from "../support/repository.js";
import { buildSdk } from "../support/sdk/runners.js";

beforeAll(() => buildSdk({ name: "typescript" }));

it("the SDK for TypeScript can be bundled for browsers, and then asks for nothing of Node's", async () => {
  const { outputFiles } = await build({
    entryPoints: [join(repository, "sdk", "typescript", "dist", "index.js")],
    bundle: true,
    format: "esm",
    platform: "browser",
    write: false,
    logLevel: "silent",
  });
  const text = outputFiles[0]?.text ?? "";
  expect(text).toContain("/run/stream");
  expect(text).not.toMatch(/["']node:/);
});
