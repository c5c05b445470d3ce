// Writes the description of the HTTP API from the tables that requests are checked by.
import { writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const entry = `export { openApiText } from "./src/api/openapi.ts"; export { version } from "./src/core/version.ts";`;

const { outputFiles } = await build({
  absWorkingDir: root,
  stdin: { contents: entry, resolveDir: root },
  bundle: true,
  format: "esm",
  platform: "node",
  write: false,
});
const code = Buffer.from(outputFiles[0].contents).toString("base64");
const { openApiText, version } = await import(`data:text/javascript;base64,${code}`);
await writeFile(join(root, "spec", "openapi.json"), openApiText(version));
