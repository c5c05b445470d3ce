// Puts together, file by file, what a release consists of: the npm packages and the folder that the install script
// unpacks. Nothing is copied by pattern but the bundle's own chunks: what is not named here is in no package.
import { chmodSync, copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { nativeNames, packageNameOf, platforms } from "./platforms.mjs";
import { digestOf } from "./sums.mjs";

const texts = ["LICENSE", "README.md", "CHANGELOG.md"];

/** The folder of the npm package `agentkernel`. */
export function stageMainPackage({ root, made, version, natives, folder }) {
  for (const name of texts) put(join(root, name), join(folder, name));
  put(join(root, "packaging/npm/agentkernel"), join(folder, "bin/agentkernel"), 0o755);
  stageBundle({ root, version, natives, folder: join(folder, "dist") });
  const sdkFiles = readdirSync(made.sdk, { recursive: true }).filter((name) => /\.(js|d\.ts)$/.test(name));
  for (const name of sdkFiles) put(join(made.sdk, name), join(folder, "sdk", name));
  stageShare(made, join(folder, "share"));
  const { description, license, engines } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const manifest = {
    name: "agentkernel",
    version,
    description,
    license,
    type: "module",
    engines,
    os: ["linux", "darwin"],
    bin: { agentkernel: "bin/agentkernel" },
    man: made.pages.map(({ file }) => `./share/man/man1/${file}`),
    types: "./sdk/index.d.ts",
    exports: { ".": { types: "./sdk/index.d.ts", default: "./sdk/index.js" }, "./package.json": "./package.json" },
    browser: { "./sdk/node/index.js": "./sdk/node/absent.js" },
    sideEffects: false,
    optionalDependencies: Object.fromEntries(
      platforms.flatMap((platform) => [
        [packageNameOf(platform), version],
        [`@typescript/typescript-${platform}`, compilerVersion(root)],
      ]),
    ),
  };
  write(join(folder, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
}

/** Of TypeScript's native compiler, for programs of code mode; the one that was tested. */
function compilerVersion(root) {
  const { packages } = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8"));
  return packages["node_modules/typescript"].version;
}

/** The folder of the npm package with one machine's programs. */
export function stagePlatformPackage({ root, version, platform, native, folder }) {
  const [os, cpu] = platform.split("-");
  put(join(root, "LICENSE"), join(folder, "LICENSE"));
  for (const name of nativeNames) put(join(native, name), join(folder, "bin", name), 0o755);
  const description = `Native programs of agentkernel for ${os} on ${cpu}`;
  const manifest = { name: packageNameOf(platform), version, description, license: "Apache-2.0", os: [os], cpu: [cpu] };
  write(join(folder, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
}

/** What the install script and Homebrew install: all of it, with the client beside the command line. */
export function stageWhole({ root, made, version, platform, natives, folder }) {
  for (const name of texts) put(join(root, name), join(folder, name));
  stageBundle({ root, version, natives, folder: join(folder, "dist") });
  for (const name of nativeNames) put(join(natives.get(platform), name), join(folder, "dist/native", name), 0o755);
  stageShare(made, join(folder, "share"));
}

/** V8's code (`*.code`) belongs to one version of Node and one kind of processor, so it stays at home. */
function stageBundle({ root, version, natives, folder }) {
  const dist = join(root, "dist");
  for (const name of ["agentkernel.js", "package.json", "build-id"]) put(join(dist, name), join(folder, name));
  for (const name of currentChunks(dist)) put(join(dist, "chunks", name), join(folder, "chunks", name));
  for (const word of ["--version", "-V"]) write(join(folder, "answers", word), `agentkernel ${version}\n`);
  // By these `setup` finds what was changed after the release, in the packages of machines too.
  const names = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = names.map((entry) => join(entry.parentPath, entry.name)).sort();
  const files = Object.fromEntries(paths.map((path) => [path.slice(folder.length + 1), digestOf(path)]));
  const native = Object.fromEntries(
    [...natives].map(([platform, from]) => [
      platform,
      Object.fromEntries(nativeNames.map((name) => [name, digestOf(join(from, name))])),
    ]),
  );
  write(join(folder, "digests.json"), `${JSON.stringify({ files, native }, null, 1)}\n`);
}

/** The chunks that the entry leads to, directly or through another; those of earlier builds lie beside them. */
function currentChunks(dist) {
  const all = readdirSync(join(dist, "chunks")).filter((name) => name.endsWith(".cjs"));
  const reached = new Set();
  const visit = (text) => {
    for (const name of all.filter((name) => !reached.has(name) && text.includes(name))) {
      reached.add(name);
      visit(readFileSync(join(dist, "chunks", name), "latin1"));
    }
  };
  visit(readFileSync(join(dist, "agentkernel.js"), "latin1"));
  return [...reached].sort();
}

function stageShare({ pages, completions }, folder) {
  for (const { file, text } of pages) write(join(folder, "man/man1", file), text);
  write(join(folder, "bash-completion/completions/agentkernel"), completions.bash);
  write(join(folder, "zsh/site-functions/_agentkernel"), completions.zsh);
  write(join(folder, "fish/vendor_completions.d/agentkernel.fish"), completions.fish);
}

export function put(from, to, mode = 0o644) {
  mkdirSync(dirname(to), { recursive: true });
  copyFileSync(from, to);
  chmodSync(to, mode);
}

export function write(path, text) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text, { mode: 0o644 });
  chmodSync(path, 0o644);
}
