// Writes the JSON Schemas of configuration and policy files, for editors, from the tables that the parser uses.
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const folder = join(root, "spec", "schemas");

const { outputFiles } = await build({
  absWorkingDir: root,
  entryPoints: ["src/config/json-schema.ts"],
  bundle: true,
  format: "esm",
  platform: "node",
  write: false,
});
const code = Buffer.from(outputFiles[0].contents).toString("base64");
const { publishedSchemas, schemaText } = await import(`data:text/javascript;base64,${code}`);
await mkdir(folder, { recursive: true });
for (const { file, schema } of publishedSchemas) await writeFile(join(folder, file), schemaText(schema));
