// What is inside: a CycloneDX list of the npm packages in the bundle and of the crates in the native programs, with the
// digests of the lock files. No time and no random number is in it, so the same sources give the same list.

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";

export function sbom({ root, version }) {
  const components = [...bundledPackages(root), ...crates(root)].sort((a, b) => (a.purl < b.purl ? -1 : 1));
  const main = { type: "application", name: "agentkernel", version, purl: `pkg:npm/agentkernel@${version}` };
  const list = {
    $schema: "http://cyclonedx.org/schema/bom-1.6.schema.json",
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: { component: { ...main, "bom-ref": main.purl, licenses: [{ license: { id: "Apache-2.0" } }] } },
    components,
    dependencies: [{ ref: main.purl, dependsOn: components.map(({ purl }) => purl) }],
  };
  const serialNumber = `urn:uuid:${uuidOf(JSON.stringify(list))}`;
  return `${JSON.stringify({ ...list, serialNumber }, null, 2)}\n`;
}

/** The build notes which packages esbuild took files of. */
function bundledPackages(root) {
  const names = JSON.parse(readFileSync(join(root, "dist/bundled-packages.json"), "utf8"));
  const { packages } = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8"));
  return names.map((place) => {
    const { version, integrity, license } = packages[place] ?? {};
    if (version === undefined) throw new Error(`package-lock.json has no ${place}, which is in the bundle`);
    const name = place.slice(place.lastIndexOf("node_modules/") + "node_modules/".length);
    return component(name, version, `pkg:npm/${name.replace("@", "%40")}@${version}`, license, npmHash(integrity));
  });
}

function npmHash(integrity) {
  const [, base64] = /^sha512-(.+)$/.exec(integrity ?? "") ?? [];
  return base64 === undefined ? [] : [{ alg: "SHA-512", content: Buffer.from(base64, "base64").toString("hex") }];
}

/** Those that are compiled in, and what makes them; not those that only tests use. */
function crates(root) {
  // What only other systems need may never have been fetched.
  const triple = `${process.arch === "arm64" ? "aarch64" : "x86_64"}-unknown-linux-gnu`;
  const words = ["metadata", "--format-version", "1", "--locked", "--offline", "--filter-platform", triple];
  const text = execFileSync("cargo", words, { cwd: join(root, "native"), encoding: "utf8", maxBuffer: 1 << 28 });
  const { packages, resolve, workspace_members: own } = JSON.parse(text);
  const nodes = new Map(resolve.nodes.map((node) => [node.id, node]));
  const reached = new Set();
  const visit = (id) => {
    if (reached.has(id)) return;
    reached.add(id);
    for (const { pkg, dep_kinds: kinds } of nodes.get(id)?.deps ?? [])
      if (kinds.some(({ kind, target }) => kind !== "dev" && isForLinux(target))) visit(pkg);
  };
  for (const id of own) visit(id);
  const sums = crateSums(readFileSync(join(root, "native/Cargo.lock"), "utf8"));
  return packages
    .filter(({ id, source }) => source !== null && reached.has(id))
    .map(({ name, version, license }) => {
      const sum = sums.get(`${name} ${version}`);
      const hashes = sum === undefined ? [] : [{ alg: "SHA-256", content: sum }];
      return component(name, version, `pkg:cargo/${name}@${version}`, license, hashes);
    });
}

function isForLinux(target) {
  return target === null || !/windows|wasi|wasm|macos|hermit|redox|android|freebsd|solid|vita/.test(target);
}

function crateSums(lock) {
  const entries = lock.matchAll(/^name = "([^"]+)"\nversion = "([^"]+)"\nsource = [^\n]+\nchecksum = "([^"]+)"/gm);
  return new Map([...entries].map(([, name, version, sum]) => [`${name} ${version}`, sum]));
}

function component(name, version, purl, license, hashes) {
  const licenses = license === undefined || license === null ? {} : { licenses: [{ expression: spdx(license) }] };
  return {
    type: "library",
    "bom-ref": purl,
    name,
    version,
    purl,
    ...licenses,
    ...(hashes.length > 0 ? { hashes } : {}),
  };
}

/** Old crates write a slash for "or". */
function spdx(text) {
  return text.replace(/\s*\/\s*/g, " OR ");
}

function uuidOf(text) {
  const hex = createHash("sha256").update(text).digest("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
