// Makes a whole release into a folder, from a checkout that is built (scripts/setup.sh build):
//
//   node scripts/release.mjs OUT [--key FILE] [--from URL] [--homepage URL] [--native PLATFORM=FOLDER]…
//
//   --key       Ed25519 private key (PEM) that signs the list of checksums; without it the release is unsigned, and its
//               install script refuses to install anything
//   --from      where the files of this release will lie, for the install script and the formula
//   --native    native programs of another machine, built there; those of this one are taken from dist/native
//
// The same sources, tools and key give the same bytes, wherever the checkout lies and whenever this runs.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { archive, npmPack } from "./release/archives.mjs";
import { stageClaudeAgent } from "./release/claude-agent.mjs";
import { stageMainPackage, stagePlatformPackage, stageWhole } from "./release/folders.mjs";
import { formula } from "./release/formula.mjs";
import { madeTexts } from "./release/made-texts.mjs";
import { nativeNames, platforms, thisPlatform } from "./release/platforms.mjs";
import { provenance } from "./release/provenance.mjs";
import { sbom } from "./release/sbom.mjs";
import { stageSdks } from "./release/sdks.mjs";
import { publicKeyText, readKey, signSums, writeSums } from "./release/sums.mjs";
import { writtenVersions } from "./release/version-places.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
/** Used where no commit says when: the first second that tar and gzip can both tell from "none". */
const noTimeSeconds = 315532800;

function refuse(why) {
  process.stderr.write(`release: ${why}\n`);
  process.exit(2);
}

function oneVersion() {
  const written = writtenVersions(root);
  const [{ version }] = written;
  const other = written.find((entry) => entry.version !== version);
  if (other !== undefined) refuse(`${other.file} says ${other.version}, package.json says ${version}`);
  return version;
}

function git(...words) {
  if (!existsSync(join(root, ".git"))) return null;
  return execFileSync("git", words, { cwd: root, encoding: "utf8" }).trim();
}

function nativeFolders(named) {
  const folders = new Map(existsSync(join(root, "dist/native")) ? [[thisPlatform, join(root, "dist/native")]] : []);
  for (const word of named) {
    const [platform, folder] = word.split("=");
    if (!platforms.includes(platform) || folder === undefined) refuse(`--native ${word}: write ${platforms[0]}=FOLDER`);
    folders.set(platform, resolve(folder));
  }
  for (const [platform, folder] of folders) {
    const missing = nativeNames.filter((name) => !existsSync(join(folder, name)));
    if (missing.length > 0) refuse(`${folder} lacks ${missing.join(", ")} for ${platform}`);
  }
  return folders;
}

async function main() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      key: { type: "string" },
      from: { type: "string", default: "" },
      homepage: { type: "string", default: "" },
      native: { type: "string", multiple: true, default: [] },
    },
  });
  const [named] = positionals;
  if (named === undefined) refuse("name the folder that the release is to lie in");
  const out = resolve(named);
  if (existsSync(out) && readdirSync(out).length > 0) refuse(`${out} is not empty`);
  mkdirSync(out, { recursive: true });
  const version = oneVersion();
  const key = values.key === undefined ? null : readKey(values.key);
  const natives = nativeFolders(values.native);
  const epochSeconds = Number(process.env.SOURCE_DATE_EPOCH ?? git("log", "-1", "--format=%ct") ?? noTimeSeconds);
  const scratch = mkdtempSync(join(tmpdir(), "agentkernel-release-"));
  try {
    const sdk = join(scratch, "sdk");
    const project = join(root, "sdk/typescript/tsconfig.json");
    execFileSync(join(root, "node_modules/.bin/tsc"), ["-p", project, "--outDir", sdk], { stdio: "inherit" });
    const made = { ...(await madeTexts(root)), sdk };
    const mainFolder = join(scratch, "agentkernel");
    stageMainPackage({ root, made, version, natives, folder: mainFolder });
    npmPack({ folder: mainFolder, outFolder: out, scratch });
    const claudeFolder = join(scratch, "agentkernel-claude-agent");
    stageClaudeAgent({ root, version, sdk, scratch, folder: claudeFolder });
    npmPack({ folder: claudeFolder, outFolder: out, scratch });
    const archives = [];
    for (const [platform, native] of natives) {
      const folder = join(scratch, platform);
      stagePlatformPackage({ root, version, platform, native, folder });
      npmPack({ folder, outFolder: out, scratch });
      const whole = join(scratch, `agentkernel-${version}-${platform}`);
      stageWhole({ root, made, version, platform, natives, folder: whole });
      const name = `agentkernel-${version}-${platform}.tar.gz`;
      archive({ folder: whole, out: join(out, name), epochSeconds });
      archives.push({ platform, name });
    }
    for (const folder of stageSdks({ root, version, scratch }))
      archive({ folder, out: join(out, `${folder.slice(folder.lastIndexOf("/") + 1)}.tar.gz`), epochSeconds });
    const script = readFileSync(join(root, "packaging/install.sh"), "utf8")
      .replace("@RELEASE_KEY@", key === null ? "" : publicKeyText(key))
      .replace("@RELEASE_FROM@", values.from);
    writeFileSync(join(out, "install.sh"), script, { mode: 0o755 });
    const { from, homepage } = values;
    writeFileSync(join(out, "agentkernel.rb"), formula({ root, folder: out, version, from, homepage, archives }));
    writeFileSync(join(out, "sbom.cdx.json"), sbom({ root, version }));
    const commit = git("status", "--porcelain") === "" ? git("rev-parse", "HEAD") : null;
    const statement = provenance({ root, folder: out, version, commit, platforms: [...natives.keys()] });
    writeFileSync(join(out, "provenance.json"), statement);
    writeSums(out);
    if (key !== null) signSums(out, key);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
  process.stdout.write(`${readFileSync(join(out, "SHA256SUMS"), "utf8")}${key === null ? "unsigned\n" : "signed\n"}`);
}

await main();
