// Fetches what the corpus is made of with npm, pip and apt, as a user would: by name, and without running any of it.
import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

function run(program, words, cwd) {
  const { status, stderr, error } = spawnSync(program, words, { cwd, encoding: "utf8", maxBuffer: 64 << 20 });
  return { ok: status === 0, why: error?.message ?? stderr };
}

/** All at once where that works, else one by one; which ones are missing is told. */
function installAll(names, install) {
  const missing = [];
  for (let at = 0; at < names.length; at += 25) {
    const some = names.slice(at, at + 25);
    if (install(some).ok) continue;
    missing.push(...some.filter((name) => !install([name]).ok));
  }
  return missing;
}

export function installNpm(folder, names) {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), '{"name": "corpus", "private": true}\n');
  const options = ["--ignore-scripts", "--legacy-peer-deps", "--no-audit", "--no-fund", "--loglevel=error"];
  return installAll(names, (some) => run("npm", ["install", ...options, ...some], folder));
}

export function installPypi(folder, names) {
  const target = join(folder, ".venv", "lib", "python3", "site-packages");
  mkdirSync(target, { recursive: true });
  // Wheels run nothing when they are installed.
  const options = ["--quiet", "--no-deps", "--no-compile", "--only-binary=:all:", "--upgrade", "--target", target];
  return installAll(names, (some) => run("python3", ["-m", "pip", "install", ...options, ...some], folder));
}

/** Unpacked as upstream has them, from the machine's own archives. */
export function unpackSources(folder, names) {
  const apt = join(folder, ".apt");
  for (const part of ["parts", "lists/partial", "cache/archives/partial"]) {
    mkdirSync(join(apt, part), { recursive: true });
  }
  const lists = "/etc/apt/sources.list.d";
  for (const name of readdirSync(lists).filter((one) => one.endsWith(".sources"))) {
    const text = readFileSync(join(lists, name), "utf8");
    writeFileSync(join(apt, "parts", name), text.replace(/^Types:.*$/gm, "Types: deb-src"));
  }
  const options = [
    `Dir::Etc::sourcelist=${join(apt, "none")}`,
    `Dir::Etc::sourceparts=${join(apt, "parts")}`,
    `Dir::State::lists=${join(apt, "lists")}`,
    `Dir::Cache=${join(apt, "cache")}`,
    "APT::Sandbox::User=root",
  ].flatMap((option) => ["-o", option]);
  const updated = run("apt-get", [...options, "update"], folder);
  if (!updated.ok) return names;
  const missing = names.filter((name) => {
    const into = join(folder, name);
    mkdirSync(into, { recursive: true });
    if (!run("apt-get", [...options, "source", "--download-only", name], into).ok) return true;
    const archives = readdirSync(into).filter((file) => /\.orig.*\.tar\.[a-z0-9]+$/.test(file));
    const failed = archives.filter((file) => !run("tar", ["-xf", file, "--no-same-owner"], into).ok);
    for (const file of readdirSync(into).filter((one) => /\.(tar\.[a-z0-9]+|dsc|asc)$/.test(one))) {
      rmSync(join(into, file));
    }
    return archives.length === 0 || failed.length > 0;
  });
  rmSync(apt, { recursive: true });
  return missing;
}
