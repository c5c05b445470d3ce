/** Builds of agentkernel whose verbs need the daemon (main.ts), any number of them, each other than all the others. */
import { createHash } from "node:crypto";
import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buildSync } from "esbuild";
import { repository } from "../repository.js";
import { testFolder } from "../test-folder.js";

/** Its `dist`, readable by every actor; made once for each mark and test process. */
export function owningBuild(mark: string): string {
  const dist = join(testFolder(), `owning-${mark}-${process.pid}`, "dist");
  if (existsSync(dist)) return dist;
  cpSync(join(testFolder(), "dist"), dist, { recursive: true });
  for (const name of ["sources.list", "sources.sh", ".built"]) rmSync(join(dist, name), { force: true });
  const outfile = join(dist, "cli.cjs");
  buildSync({
    entryPoints: [join(repository, "test/support/owning-build/main.ts")],
    bundle: true,
    platform: "node",
    format: "cjs",
    target: "node20",
    supported: { "dynamic-import": false },
    define: { "import.meta.url": "__bundleUrl" },
    banner: { js: `/* ${mark} */` },
    outfile,
    logLevel: "warning",
  });
  const source = readFileSync(outfile, "utf8");
  const hash = createHash("sha256").update(source).digest("hex").slice(0, 16);
  writeFileSync(
    join(dist, "chunks", `cli-${hash}.cjs`),
    `const __bundleUrl = require("node:url").pathToFileURL(__filename).href;\n${source}`,
  );
  writeFileSync(join(dist, "agentkernel.js"), `require("./chunks/cli-${hash}.cjs");\n`);
  writeFileSync(join(dist, "build-id"), `${hash}\n`);
  return dist;
}
