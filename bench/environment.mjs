/** The machine that figures are of: nothing that names it or its user. */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { cpus, loadavg, release, totalmem } from "node:os";
import { join } from "node:path";

/** What says its version, and how. */
const versioned = {
  bwrap: ["bwrap", "--version"],
  docker: ["docker", "--version"],
  podman: ["podman", "--version"],
  runsc: ["runsc", "--version"],
  runc: ["runc", "--version"],
};

/** `srtFolder`: where srt was installed to, if it was. */
export function environment(srtFolder) {
  return {
    kernel: release(),
    cpu: cpus()[0]?.model ?? "unknown",
    cores: cpus().length,
    memoryMiB: Math.round(totalmem() / 2 ** 20),
    cgroup: existsSync("/sys/fs/cgroup/cgroup.controllers") ? "v2" : "v1",
    node: process.version,
    isRoot: process.getuid() === 0,
    rivals: {
      ...Object.fromEntries(Object.entries(versioned).map(([name, words]) => [name, versionOf(words)])),
      srt: packageVersion(join(srtFolder, "node_modules", "@anthropic-ai", "sandbox-runtime", "package.json")),
    },
  };
}

export function load() {
  return loadavg()[0];
}

export function hasProgram(name) {
  try {
    execFileSync("sh", ["-c", `command -v "$1"`, "sh", name], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

function versionOf([program, ...words]) {
  if (!hasProgram(program)) return null;
  const said = execFileSync(program, words, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  return /\d[\w.~+-]*/.exec(said)?.[0] ?? null;
}

function packageVersion(file) {
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")).version : null;
}
