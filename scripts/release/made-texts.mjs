// Pages of the manual and completions, made from the tables of verbs as the sources have them now.
import { join } from "node:path";
import { build } from "esbuild";

export async function madeTexts(root) {
  const { outputFiles } = await build({
    absWorkingDir: root,
    stdin: {
      contents: `export { manualPages } from "./src/cli/manual.js"; export { completionsFor } from "./src/cli/completions.js";`,
      resolveDir: join(root),
    },
    bundle: true,
    format: "esm",
    platform: "node",
    write: false,
    // The code of verbs is not needed here, and says where it lies in ways that only the bundle knows.
    external: ["./verbs/*", "../verbs/*"],
    logLevel: "error",
  });
  const code = Buffer.from(outputFiles[0].contents).toString("base64");
  const { manualPages, completionsFor } = await import(`data:text/javascript;base64,${code}`);
  const completions = Object.fromEntries(["bash", "zsh", "fish"].map((shell) => [shell, completionsFor(shell)]));
  return { pages: manualPages(), completions };
}
