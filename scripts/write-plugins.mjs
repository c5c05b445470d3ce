// Writes the plugins of coding agents from the same source that `agents install` writes from.
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = dirname(dirname(fileURLToPath(import.meta.url)));

const { outputFiles } = await build({
  absWorkingDir: root,
  entryPoints: ["src/agents/claude/plugin.ts"],
  bundle: true,
  format: "esm",
  platform: "node",
  write: false,
});
const code = Buffer.from(outputFiles[0].contents).toString("base64");
const { pluginFiles } = await import(`data:text/javascript;base64,${code}`);
for (const [path, text] of Object.entries(pluginFiles)) {
  await mkdir(dirname(join(root, path)), { recursive: true });
  await writeFile(join(root, path), text);
}
