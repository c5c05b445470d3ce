/** What the servers of the clients' world have: a page, a Git repository, a Python index, an npm registry, Debian packages. */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

export const CONTENT = "delivered whole";

interface Served {
  readonly folder: string;
  readonly repositories: string;
}

/** `hosts`: each gets a registry that speaks of itself by that name. */
export function makeServed(base: string, hosts: readonly string[]): Served {
  const folder = join(base, "served");
  put(join(folder, "hello.txt"), `${CONTENT}\n`);
  makeIndex(folder);
  makeRegistry(folder, hosts);
  makeDebian(base, folder);
  return { folder, repositories: makeRepository(base) };
}

function put(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

function run(cwd: string, program: string, ...words: readonly string[]): void {
  const env = { PATH: process.env.PATH, HOME: cwd, GIT_CONFIG_NOSYSTEM: "1" };
  execFileSync(program, words, { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
}

function makeRepository(base: string): string {
  const work = join(base, "work");
  put(join(work, "file.txt"), `${CONTENT}\n`);
  run(work, "git", "init", "-q");
  run(work, "git", "add", "file.txt");
  run(work, "git", "-c", "user.name=test", "-c", "user.email=test@example.com", "commit", "-q", "-m", "a file");
  const repositories = join(base, "repositories");
  mkdirSync(repositories);
  run(base, "git", "clone", "-q", "--bare", work, join(repositories, "demo.git"));
  return repositories;
}

function makeIndex(folder: string): void {
  const wheel = "demo-1.0-py3-none-any.whl";
  const page = join(folder, "simple", "demo");
  mkdirSync(page, { recursive: true });
  const script = `
import sys, zipfile
with zipfile.ZipFile(sys.argv[1], "w") as wheel:
    wheel.writestr("demo.py", "content = '${CONTENT}'\\n")
    info = "demo-1.0.dist-info/"
    wheel.writestr(info + "METADATA", "Metadata-Version: 2.1\\nName: demo\\nVersion: 1.0\\n")
    wheel.writestr(info + "WHEEL", "Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
    wheel.writestr(info + "RECORD", "demo.py,,\\n")
`;
  run(page, "python3", "-c", script, join(page, wheel));
  put(join(page, "index.html"), `<!DOCTYPE html><html><body><a href="${wheel}">${wheel}</a></body></html>\n`);
}

function makeRegistry(folder: string, hosts: readonly string[]): void {
  const source = join(folder, "package-source");
  const manifest = { name: "demo", version: "1.0.0", main: "index.js" };
  put(join(source, "package", "package.json"), JSON.stringify(manifest));
  put(join(source, "package", "index.js"), `module.exports = "${CONTENT}";\n`);
  run(source, "tar", "-czf", "demo-1.0.0.tgz", "package");
  const archive = readFileSync(join(source, "demo-1.0.0.tgz"));
  const integrity = `sha512-${createHash("sha512").update(archive).digest("base64")}`;
  for (const host of hosts) {
    const tarball = `https://${host}/package-source/demo-1.0.0.tgz`;
    const versions = { "1.0.0": { ...manifest, dist: { tarball, integrity } } };
    put(join(folder, host, "demo"), JSON.stringify({ name: "demo", "dist-tags": { latest: "1.0.0" }, versions }));
  }
}

function makeDebian(base: string, folder: string): void {
  const tree = join(base, "debian");
  const fields = ["Package: demo", "Version: 1.0", "Architecture: all", "Maintainer: test", "Description: demo"];
  put(join(tree, "DEBIAN", "control"), `${fields.join("\n")}\n`);
  put(join(tree, "usr", "share", "demo"), `${CONTENT}\n`);
  const archive = join(folder, "apt", "demo.deb");
  mkdirSync(dirname(archive), { recursive: true });
  run(base, "dpkg-deb", "--root-owner-group", "-b", tree, archive);
  const bytes = readFileSync(archive);
  const place = [
    "Filename: ./demo.deb",
    `Size: ${bytes.length}`,
    `SHA256: ${createHash("sha256").update(bytes).digest("hex")}`,
  ];
  put(join(folder, "apt", "Packages"), `${[...fields, ...place].join("\n")}\n`);
}
