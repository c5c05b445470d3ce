// Bundles the command line into dist/: a small entry, and a chunk for whatever main.ts imports when it needs it.
// Start-up time is a promise of this project, so nothing here may pull a verb into the entry.
import { mkdir, readdir, rename, rm, stat, utimes } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const dist = join(root, "dist");
const staging = join(root, ".build", "bundle");
const staleChunkAgeMs = 24 * 60 * 60 * 1000;

await rm(staging, { recursive: true, force: true });
const bundled = await build({
  absWorkingDir: root,
  entryPoints: { agentkernel: "src/cli/main.ts" },
  outdir: staging,
  chunkNames: "chunks/[name]-[hash]",
  bundle: true,
  splitting: true,
  format: "esm",
  platform: "node",
  target: "node20",
  minifySyntax: true,
  minifyWhitespace: true,
  legalComments: "none",
  // Commander is CommonJS inside and calls require() for Node's own modules.
  banner: {
    js: 'import{createRequire as __createRequire}from"node:module";const require=__createRequire(import.meta.url);',
  },
  logLevel: "warning",
}).catch(() => undefined); // esbuild has already said what is wrong, and where
if (bundled === undefined) process.exit(1);
await publish();

/** Chunks first, the entry last, each by rename: a process that starts at any moment finds one whole bundle. */
async function publish() {
  const chunks = join(dist, "chunks");
  await mkdir(chunks, { recursive: true });
  const staged = await readdir(join(staging, "chunks")).catch(() => []);
  for (const name of staged) await rename(join(staging, "chunks", name), join(chunks, name));
  await rename(join(staging, "agentkernel.js"), join(dist, "agentkernel.js"));
  await removeStaleChunks(chunks, new Set(staged));
}

/** Chunks of the last day stay: a process that started before this build may still import one of them. */
async function removeStaleChunks(chunks, current) {
  const now = Date.now();
  for (const name of await readdir(chunks)) {
    const path = join(chunks, name);
    if (current.has(name)) await utimes(path, new Date(now), new Date(now));
    else if (now - (await stat(path)).mtimeMs > staleChunkAgeMs) await rm(path);
  }
}
