/** Parts of the product's own sources, to be called by a benchmark. */
import { pathToFileURL } from "node:url";
import { build } from "esbuild";

/** `exported`: file in `checkout` → what is wanted of it. The bundle lies at `outfile`. */
export async function bundled(checkout, outfile, exported) {
  const lines = Object.entries(exported).map(([file, names]) => `export { ${names} } from "./${file}";`);
  await build({
    stdin: { contents: lines.join("\n"), resolveDir: checkout },
    outfile,
    bundle: true,
    format: "esm",
    platform: "node",
    logLevel: "warning",
  });
  return await import(pathToFileURL(outfile).href);
}
