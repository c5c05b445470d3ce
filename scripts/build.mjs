// Bundles the command line into dist/: a few CommonJS files (scripts/bundle/parts.mjs), the code that V8 has made of
// them, and a small entry that loads both. Start-up time is a promise of this project: Node starts CommonJS faster than
// modules, and what V8 has compiled before need not be compiled again. A verb's own code still runs only when it is
// named, and large packages lie in files of their own.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFile, mkdir, readdir, readFile, rename, rm, stat, symlink, utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { entryText } from "./bundle/entry.mjs";
import { acrossParts, assignParts, offeredBy, partNames, partText } from "./bundle/parts.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const dist = join(root, "dist");
const staging = join(root, ".build", "bundle");
const staleChunkAgeMs = 24 * 60 * 60 * 1000;
const recordTimeoutMs = 20_000;
const MAIN = "src/cli/main.ts";

/** Which packages are in the bundle, by their places in the lock file; a release lists them. */
const bundledPackages = new Set();

const common = {
  absWorkingDir: root,
  bundle: true,
  format: "cjs",
  platform: "node",
  target: "node20",
  // jsonc-parser's other form loads its parts in a way that a bundler cannot follow.
  mainFields: ["module", "main"],
  minifySyntax: true,
  minifyWhitespace: true,
  legalComments: "none",
  // One byte a character: the entry reads it so.
  charset: "ascii",
  supported: { "dynamic-import": false },
  logLevel: "warning",
  metafile: true,
  // Names of files in the bundle are then the same wherever node_modules really lies.
  preserveSymlinks: true,
};

await rm(staging, { recursive: true, force: true });
await mkdir(join(staging, "chunks"), { recursive: true });
const yamlChunk = await bundleApart("src/config/yaml-text.ts", "yaml");
const configChunk = await bundleApart("src/config/index.ts", "config", [
  loadedFrom(/\/yaml-text\.js$/, `./${yamlChunk}`),
]);
const mcpSdkChunk = await bundleApart("src/mcp/sdk.ts", "mcp-sdk");
const mcpClientChunk = await bundleApart("src/codemode/servers/client-sdk.ts", "mcp-client");
const mcpHttpChunk = await bundleApart("src/mcp/http/bounded-transport.ts", "mcp-http");
const webSocketChunk = await bundleApart("src/api/websocket.ts", "websocket");
const jwtChunk = await bundleApart("src/api/auth/jwt.ts", "jwt");
const agentsChunk = await bundleApart("src/agents/index.ts", "agents");
const apart = [
  loadedFrom(/\/config\/index\.js$/, `./chunks/${configChunk}`),
  loadedFrom(/\/bounded-transport\.js$/, `./chunks/${mcpHttpChunk}`),
  loadedFrom(/\/client-sdk\.js$/, `./chunks/${mcpClientChunk}`),
  loadedFrom(/\/sdk\.js$/, `./chunks/${mcpSdkChunk}`),
  loadedFrom(/\/websocket\.js$/, `./chunks/${webSocketChunk}`),
  loadedFrom(/\/auth\/jwt\.js$/, `./chunks/${jwtChunk}`),
  loadedFrom(/\/agents\/index\.js$/, `./chunks/${agentsChunk}`),
];
const define = { "import.meta.url": "__bundleUrl" };
const whole = await built({ ...common, define, entryPoints: [MAIN], write: false, outdir: staging, plugins: apart });
notePackages(whole);
const { inputs } = whole.metafile;
const partOf = assignParts(inputs);
const parts = new Map();
for (const part of partNames) {
  const { outputFiles } = await built({
    ...common,
    define,
    stdin: {
      contents: partText(offeredBy(part, inputs, partOf), part === partOf.get(MAIN) ? MAIN : null),
      resolveDir: root,
    },
    write: false,
    plugins: [...apart, acrossParts(root, part, partOf)],
    // The file is a script whose value is this function, for the entry to call.
    banner: { js: "(function(require,module,exports,__bundleUrl){" },
    footer: { js: "})" },
  });
  parts.set(part, outputFiles[0].contents);
}

// V8 recognises a source by its length alone, so code may only be found by the hash of the source it was made from.
const hash = createHash("sha256");
for (const text of parts.values()) hash.update(text);
const buildId = hash.digest("hex").slice(0, 16);
const files = Object.fromEntries([...parts.keys()].map((part) => [part, `${part}-${buildId}.cjs`]));
for (const [part, text] of parts) await writeFile(join(staging, "chunks", files[part]), text);
await writeFile(join(staging, "agentkernel.js"), entryText(files));
// By this a client knows whether a running daemon is of the same build; src/core/build-id.ts reads it off the chunk.
await writeFile(join(staging, "build-id"), `${buildId}\n`);
// A package of modules is around it.
await writeFile(join(staging, "package.json"), '{ "type": "commonjs" }\n');
// Its engine is beside the bundle.
bundledPackages.add("node_modules/quickjs-wasi");
await writeFile(join(staging, "bundled-packages.json"), `${JSON.stringify([...bundledPackages].sort())}\n`);
await recordCode();
await publish();
await publishEngine();

function notePackages({ metafile }) {
  for (const path of Object.keys(metafile.inputs)) {
    const [place] = /^node_modules\/(?:.*\/node_modules\/)?(?:@[^/]+\/)?[^/]+(?=\/)/.exec(path) ?? [];
    if (place !== undefined) bundledPackages.add(place);
  }
}

/** Where it fails, esbuild has already said what is wrong, and where. */
async function built(options) {
  return await build(options).catch(() => process.exit(1));
}

/** A module, and all that it needs, as a file beside the bundle. Returns its name. */
async function bundleApart(entryPoint, name, plugins = []) {
  const outfile = join(staging, `${name}.cjs`);
  notePackages(await built({ ...common, entryPoints: [entryPoint], outfile, plugins }));
  const hash = createHash("sha256")
    .update(await readFile(outfile))
    .digest("hex")
    .slice(0, 16);
  await rename(outfile, join(staging, "chunks", `${name}-${hash}.cjs`));
  return `${name}-${hash}.cjs`;
}

/** Makes `import()` of what `filter` fits a `require` of that file. */
function loadedFrom(filter, path) {
  const resolve = ({ kind }) => (kind === "dynamic-import" ? { path, external: true } : undefined);
  return { name: "loaded-from", setup: ({ onResolve }) => onResolve({ filter }, resolve) };
}

/**
 * V8's code of a run, made by running, which keeps it: only what was called is compiled, so only that is in it. Where no
 * sandbox can be started the code up to there is as good, and without any the command line works too, a little slower.
 */
async function recordCode() {
  const project = join(staging, "project");
  await mkdir(project);
  // Where the bundle looks for them, so that the run gets beyond the start of its sandbox.
  await symlink(join(dist, "native"), join(staging, "native"));
  const entry = join(staging, "agentkernel.js");
  // The image is named: a build asks no registry, and one that could not be had would end the run too early.
  const { status } = spawnSync(process.execPath, [entry, "run", "--no-network", "--image", "host", "--", "true"], {
    cwd: project,
    env: { PATH: process.env.PATH, HOME: project, XDG_STATE_HOME: project },
    stdio: "ignore",
    timeout: recordTimeoutMs,
  });
  if (status !== 0) console.error(`no sandbox could be started here (${status}): the first runs compile more`);
}

/** Chunks first, the entry last, each by rename: a process that starts at any moment finds one whole bundle. */
async function publish() {
  const chunks = join(dist, "chunks");
  await mkdir(chunks, { recursive: true });
  const staged = await readdir(join(staging, "chunks"));
  for (const name of staged) await rename(join(staging, "chunks", name), join(chunks, name));
  for (const name of ["bundled-packages.json", "package.json", "agentkernel.js", "build-id"])
    await rename(join(staging, name), join(dist, name));
  await removeStaleChunks(chunks, new Set(staged));
}

/** The engine for `--lang js`, a module that is called like any other. */
async function publishEngine() {
  const folder = join(dist, "wasm");
  await mkdir(folder, { recursive: true });
  const fresh = join(folder, ".quickjs.new");
  await copyFile(join(root, "node_modules", "quickjs-wasi", "quickjs.wasm"), fresh);
  await rename(fresh, join(folder, "quickjs.wasm"));
}

/** Chunks of the last day stay: a process that started before this build may still read one of them. */
async function removeStaleChunks(chunks, current) {
  const now = Date.now();
  for (const name of await readdir(chunks)) {
    const path = join(chunks, name);
    if (current.has(name)) await utimes(path, new Date(now), new Date(now));
    else if (now - (await stat(path)).mtimeMs > staleChunkAgeMs) await rm(path);
  }
}
