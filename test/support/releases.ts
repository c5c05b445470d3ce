/** Releases as the project's own script makes them, each from a copy of the checkout in a folder of its own. */
import { execFile } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { version as currentVersion } from "../../src/core/version.js";
import { repository } from "./repository.js";
import { testFolder } from "./test-folder.js";

const run = promisify(execFile);

/** One that never was: upgrades begin from it. */
export const PREVIOUS_VERSION = "0.0.9";

const copied = [
  ...["package.json", "package-lock.json", "LICENSE", "README.md", "CHANGELOG.md", "tsconfig.json"],
  ...["src", "spec", "sdk", "scripts", "packaging", "plugins", ".claude-plugin", "native", "dist"],
];
const leftOut = new Set(["node_modules", "target", ".build", "__pycache__"]);

interface ReleaseOptions {
  readonly version?: string;
  readonly key?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** The folder of a release of this version, made once for all test files. */
export async function releaseOf(version: string = currentVersion): Promise<string> {
  const folder = join(testFolder(), `release-${version}`);
  if (!existsSync(folder)) {
    const made = await makeRelease(copyOfCheckout(), { version });
    renameSync(made, folder);
  }
  return folder;
}

/** A checkout, built, without its history. */
export function copyOfCheckout(): string {
  const folder = mkdtempSync(join(testFolder(), "checkout-"));
  for (const name of copied) {
    const filter = (path: string) => !leftOut.has(basename(path)) && !path.endsWith(".code");
    cpSync(join(repository, name), join(folder, name), { recursive: true, filter });
  }
  symlinkSync(join(repository, "node_modules"), join(folder, "node_modules"));
  return folder;
}

export async function makeRelease(checkout: string, options: ReleaseOptions = {}): Promise<string> {
  const { version = currentVersion, key = releaseKey(), env = {} } = options;
  const words = { cwd: checkout, env: { ...process.env, SOURCE_DATE_EPOCH: "1700000000", ...env } };
  if (version !== currentVersion) {
    await run(process.execPath, ["scripts/set-version.mjs", version], words);
    await run(process.execPath, ["scripts/build.mjs"], words);
  }
  const out = join(checkout, "out");
  await run(process.execPath, ["scripts/release.mjs", out, "--key", key], words);
  chmodSync(checkout, 0o755);
  return out;
}

/** The key that all releases of this test run are signed with. */
export function releaseKey(name = "release"): string {
  const folder = join(testFolder(), "keys");
  const path = join(folder, `${name}.pem`);
  if (existsSync(path)) return path;
  mkdirSync(folder, { recursive: true });
  const { privateKey } = generateKeyPairSync("ed25519");
  writeFileSync(path, privateKey.export({ format: "pem", type: "pkcs8" }), { mode: 0o600 });
  return path;
}
