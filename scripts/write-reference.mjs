// Writes the tables of settings in the documentation from src/settings.
import { readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const page = join(root, "docs", "configuration.md");

const { outputFiles } = await build({
  absWorkingDir: root,
  entryPoints: ["src/settings/reference.ts"],
  bundle: true,
  format: "esm",
  platform: "node",
  write: false,
});
const code = Buffer.from(outputFiles[0].contents).toString("base64");
const { withReference } = await import(`data:text/javascript;base64,${code}`);
await writeFile(page, withReference(await readFile(page, "utf8")));
