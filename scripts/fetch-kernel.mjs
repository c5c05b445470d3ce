// Makes a kernel for virtual machines of Debian's package, as `agentkernel setup --backend microvm` does:
// scripts/fetch-kernel.mjs FOLDER
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { build } from "esbuild";

const folder = process.argv[2];
if (folder === undefined) {
  console.error("fetch-kernel: name the folder that gets the kernel");
  process.exit(2);
}
const work = mkdtempSync(join(tmpdir(), "agentkernel-fetch-"));
try {
  const outfile = join(work, "machine.mjs");
  const entry = new URL("../src/machine/debian-kernel.ts", import.meta.url).pathname;
  await build({ entryPoints: [entry], outfile, bundle: true, platform: "node", format: "esm", logLevel: "error" });
  const { fetchDebianKernel } = await import(outfile);
  const { name } = await fetchDebianKernel(resolve(folder));
  console.error(`fetch-kernel: ${folder} has ${name}`);
} finally {
  rmSync(work, { recursive: true, force: true });
}
