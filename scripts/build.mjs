// Bundles the command line into dist/: one CommonJS file, the code that V8 has made of it, and a small entry that
// loads both. Start-up time is a promise of this project: Node starts CommonJS faster than modules, and what V8 has
// compiled before need not be compiled again. A verb's own code still runs only when it is named, and what most runs
// never need lies in a file of its own.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const dist = join(root, "dist");
const staging = join(root, ".build", "bundle");
const staleChunkAgeMs = 24 * 60 * 60 * 1000;
const recordTimeoutMs = 20_000;

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
};

await rm(staging, { recursive: true, force: true });
await mkdir(join(staging, "chunks"), { recursive: true });
const yamlChunk = await bundleApart("src/config/yaml-text.ts", "yaml");
const configChunk = await bundleApart("src/config/index.ts", "config", [
  loadedFrom(/\/yaml-text\.js$/, `./${yamlChunk}`),
]);
const mcpSdkChunk = await bundleApart("src/mcp/sdk.ts", "mcp-sdk");
const mcpHttpChunk = await bundleApart("src/mcp/http/bounded-transport.ts", "mcp-http");
const webSocketChunk = await bundleApart("src/api/websocket.ts", "websocket");
const jwtChunk = await bundleApart("src/api/auth/jwt.ts", "jwt");
const agentsChunk = await bundleApart("src/agents/index.ts", "agents");
const bundled = await build({
  ...common,
  entryPoints: ["src/cli/main.ts"],
  outfile: join(staging, "cli.cjs"),
  plugins: [
    loadedFrom(/\/config\/index\.js$/, `./chunks/${configChunk}`),
    loadedFrom(/\/bounded-transport\.js$/, `./chunks/${mcpHttpChunk}`),
    loadedFrom(/\/sdk\.js$/, `./chunks/${mcpSdkChunk}`),
    loadedFrom(/\/websocket\.js$/, `./chunks/${webSocketChunk}`),
    loadedFrom(/\/auth\/jwt\.js$/, `./chunks/${jwtChunk}`),
    loadedFrom(/\/agents\/index\.js$/, `./chunks/${agentsChunk}`),
  ],
  // The file is a script whose value is this function, for the entry to call.
  banner: { js: "(function(require,module,exports,__bundleUrl){" },
  footer: { js: "})" },
  define: { "import.meta.url": "__bundleUrl" },
}).catch(() => undefined); // esbuild has already said what is wrong, and where
if (bundled === undefined) process.exit(1);

// V8 recognises a source by its length alone, so code may only be found by the hash of the source it was made from.
const source = await readFile(join(staging, "cli.cjs"));
const chunk = `cli-${createHash("sha256").update(source).digest("hex").slice(0, 16)}`;
await rename(join(staging, "cli.cjs"), join(staging, "chunks", `${chunk}.cjs`));
await writeFile(join(staging, "agentkernel.js"), entry(""));
// By this a client knows whether a running daemon is of the same build; src/core/build-id.ts reads it off the chunk.
await writeFile(join(staging, "build-id"), `${chunk.replace("cli-", "")}\n`);
// A package of modules is around it.
await writeFile(join(staging, "package.json"), '{ "type": "commonjs" }\n');
await recordCode();
await publish();

/** A module, and all that it needs, as a file beside the bundle. Returns its name. */
async function bundleApart(entryPoint, name, plugins = []) {
  const outfile = join(staging, `${name}.cjs`);
  const made = await build({ ...common, entryPoints: [entryPoint], outfile, plugins }).catch(() => undefined);
  if (made === undefined) process.exit(1);
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

/** Loads the bundle and calls it; `meanwhile` runs between the two and sees it as `script`. */
function entry(meanwhile) {
  return `"use strict";
const { existsSync, readFileSync } = require("node:fs");
const { pathToFileURL } = require("node:url");
const { Script } = require("node:vm");
const filename = __dirname + "/chunks/${chunk}.cjs";
const code = __dirname + "/chunks/${chunk}.code";
// Code of another version of Node is not taken, and everything compiled anew.
const cachedData = existsSync(code) ? readFileSync(code) : undefined;
const script = new Script(readFileSync(filename, "latin1"), { filename, cachedData });
${meanwhile}script.runInThisContext()(require, module, exports, pathToFileURL(filename).href);
`;
}

/**
 * V8's code of a run, made by running: only what was called is compiled, so only that is kept. Where no sandbox can
 * be started the code up to there is as good, and without any the command line works too, a little slower.
 */
async function recordCode() {
  const recorder = join(staging, "recorder.cjs");
  const project = join(staging, "project");
  await mkdir(project);
  const keep = 'require("node:fs").writeFileSync(code, script.createCachedData())';
  await writeFile(recorder, entry(`process.once("exit", () => ${keep});\n`));
  spawnSync(process.execPath, [recorder, "run", "--no-network", "--", "true"], {
    cwd: project,
    env: { PATH: process.env.PATH, HOME: project, XDG_STATE_HOME: project },
    stdio: "ignore",
    timeout: recordTimeoutMs,
  });
}

/** Chunks first, the entry last, each by rename: a process that starts at any moment finds one whole bundle. */
async function publish() {
  const chunks = join(dist, "chunks");
  await mkdir(chunks, { recursive: true });
  const staged = await readdir(join(staging, "chunks"));
  for (const name of staged) await rename(join(staging, "chunks", name), join(chunks, name));
  for (const name of ["package.json", "agentkernel.js", "build-id"])
    await rename(join(staging, name), join(dist, name));
  await removeStaleChunks(chunks, new Set(staged));
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
