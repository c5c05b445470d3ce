/**
 * E2B's own SDKs, in the versions that are tried. They are installed once, without running any script of theirs, into a
 * cache beside the build; where a registry cannot be reached, what is there is used.
 */
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { repository } from "../repository.js";

const run = promisify(execFile);
const cache = join(repository, ".build", "e2b-sdks");

/** Oldest, before the change of their API in 2.51, and newest. The last of each is tried on every change. */
export const sdkVersions = {
  javascript: ["2.45.0", "2.50.0", "2.51.0"],
  python: ["2.45.1", "2.53.1", "2.63.0"],
} as const;

export type SdkLanguage = keyof typeof sdkVersions;

/** Where its modules are found. */
export async function installedSdk(language: SdkLanguage, version: string): Promise<string> {
  return await installed(`${language}-${version}`, (into) => installers[language](into, version));
}

/** The SDK that is published for agentkernel on npm. */
export async function publishedSdk(): Promise<string> {
  return await installed("agentkernel-0.18.1", (into) => npm(into, "agentkernel@0.18.1"));
}

type Words = readonly [string, ...string[]];

async function installed(name: string, installer: (into: string) => Words): Promise<string> {
  const folder = join(cache, name);
  if (existsSync(folder)) return folder;
  const staging = `${folder}.${process.pid}`;
  rmSync(staging, { recursive: true, force: true });
  mkdirSync(staging, { recursive: true });
  const [program, ...words] = installer(staging);
  await run(program, words, { timeout: 170_000, cwd: staging });
  rmSync(folder, { recursive: true, force: true });
  renameSync(staging, folder);
  return folder;
}

function npm(into: string, wanted: string): Words {
  const quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
  return ["npm", "install", ...quiet, "--prefix", into, wanted];
}

const installers: Readonly<Record<SdkLanguage, (into: string, version: string) => Words>> = {
  javascript: (into, version) => npm(into, `e2b@${version}`),
  python: (into, version) => {
    const quiet = ["--quiet", "--disable-pip-version-check", "--no-compile", "--only-binary", ":all:"];
    return ["python3", "-m", "pip", "install", ...quiet, "--target", into, `e2b==${version}`];
  },
};
