// Draws docs/pictures/architecture.svg: see scripts/architecture-picture/drawing.ts.
import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const outfile = join(root, ".build", "architecture-picture.mjs");

await build({
  absWorkingDir: root,
  entryPoints: ["scripts/architecture-picture/drawing.ts"],
  bundle: true,
  format: "esm",
  platform: "node",
  outfile,
  logLevel: "warning",
});
const { drawing } = await import(pathToFileURL(outfile).href);
writeFileSync(join(root, "docs", "pictures", "architecture.svg"), drawing());
