// Makes the pictures of the documentation: see scripts/pictures/index.ts.
import { spawnSync } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
// Two folders below the root, as test/support is, whose code finds the checkout from its own place.
const outfile = join(root, ".build", "pictures", "index.mjs");

await build({
  absWorkingDir: root,
  entryPoints: ["scripts/pictures/index.ts"],
  bundle: true,
  format: "esm",
  platform: "node",
  outfile,
  logLevel: "warning",
});
const { status } = spawnSync(process.execPath, [outfile, ...process.argv.slice(2)], { cwd: root, stdio: "inherit" });
process.exitCode = status ?? 1;
