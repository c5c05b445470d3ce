/** What the tests look for after each sandbox (test/support/leaks.ts), for a program that is no test. */
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";

const leaks = join(dirname(dirname(fileURLToPath(import.meta.url))), "support", "leaks.ts");

/** Processes are ours by the copy of the build in this folder that they run. */
export async function leakTraces(folder) {
  const outfile = join(folder, "leaks.mjs");
  await build({ entryPoints: [leaks], outfile, bundle: true, format: "esm", platform: "node", logLevel: "warning" });
  process.env.AGENTKERNEL_TEST_FOLDER = folder;
  return await import(pathToFileURL(outfile).href);
}
