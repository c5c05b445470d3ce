/** Sources of the product and of the tests, for a program that is neither. */
import { basename, dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** What the TypeScript file at `path` in the checkout exports. */
export async function bundled(path, folder) {
  const outfile = join(folder, `${basename(path, ".ts")}.mjs`);
  const entryPoints = [join(root, path)];
  await build({ entryPoints, outfile, bundle: true, format: "esm", platform: "node", logLevel: "warning" });
  return await import(pathToFileURL(outfile).href);
}
