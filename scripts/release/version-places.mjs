// Every place where the version is written down. There is one version: of the program, its packages, its SDKs, its
// plugin and its API. `scripts/set-version.mjs` changes it everywhere; a test reads these places and compares.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const quoted = '"([^"]+)"';

/** `pattern` finds every version that is ours in that file, as its first group. */
export const versionPlaces = [
  { file: "package.json", pattern: new RegExp(`^ {2}"version": ${quoted}`, "gm") },
  // Its own, and that of the package at the root.
  { file: "package-lock.json", pattern: new RegExp(`"name": "agentkernel",\\s+"version": ${quoted}`, "g") },
  { file: "src/core/version.ts", pattern: new RegExp(`version = ${quoted}`, "g") },
  { file: "native/Cargo.toml", pattern: new RegExp(`^version = ${quoted}`, "gm") },
  { file: "native/Cargo.lock", pattern: new RegExp(`^name = "ak-[a-z]+"\\nversion = ${quoted}`, "gm") },
  { file: "sdk/typescript/package.json", pattern: new RegExp(`^ {2}"version": ${quoted}`, "gm") },
  // Its own, and that of the package which it depends on.
  { file: "sdk/claude-agent/package.json", pattern: new RegExp(`^ {2,4}"(?:version|agentkernel)": ${quoted}`, "gm") },
  { file: "sdk/python/pyproject.toml", pattern: new RegExp(`^version = ${quoted}`, "gm") },
  { file: "sdk/rust/Cargo.toml", pattern: new RegExp(`^version = ${quoted}`, "gm") },
  { file: "sdk/rust/Cargo.lock", pattern: new RegExp(`^name = "agentkernel-sdk"\\nversion = ${quoted}`, "gm") },
  { file: "spec/openapi.json", pattern: new RegExp(`^ {4}"version": ${quoted}`, "gm") },
  { file: ".claude-plugin/marketplace.json", pattern: new RegExp(`"version": ${quoted}`, "g") },
  { file: "plugins/claude-code/.claude-plugin/plugin.json", pattern: new RegExp(`"version": ${quoted}`, "g") },
];

/** Each version that is written somewhere: `{ file, version }`, once for each time. */
export function writtenVersions(root) {
  return versionPlaces.flatMap(({ file, pattern }) => {
    const found = [...readFileSync(join(root, file), "utf8").matchAll(pattern)].map(([, version]) => version);
    if (found.length === 0) throw new Error(`${file} says no version where one is expected`);
    return found.map((version) => ({ file, version }));
  });
}

export function writeVersion(root, version) {
  for (const { file, pattern } of versionPlaces) {
    const path = join(root, file);
    const text = readFileSync(path, "utf8");
    const changed = text.replace(pattern, (match, old) => `${match.slice(0, match.lastIndexOf(old))}${version}"`);
    writeFileSync(path, changed);
  }
}
