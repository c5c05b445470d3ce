/**
 * Roots of Debian's packages. They take minutes and the network, which tests do not have, so they are made before the
 * tests and kept outside the checkout, named after how they are made.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

/** The smallest that Debian makes: a tar archive. */
export function smallestRoot(): string {
  return made("debian", []);
}

/** One with what the contract's commands need, for engines. */
export function contractRoot(): string {
  // As in the host's own image, so that the contract need not know which one it is in.
  const home = [
    'sed -i "s#^root:x:0:0:root:/root:#root:x:0:0:root:/home/sandbox:#" "$1/etc/passwd"',
    'mkdir "$1/home/sandbox"',
    'rm "$1/etc/host.conf"',
  ];
  const packages = "python3-minimal,libpython3-stdlib,curl,procps";
  return made("debian-for-engines", [`--include=${packages}`, ...home.map((hook) => `--customize-hook=${hook}`)]);
}

function made(name: string, options: readonly string[]): string {
  const words = ["--quiet", "--variant=minbase", ...options, "bookworm"];
  const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "agentkernel-test");
  const digest = createHash("sha256").update(JSON.stringify(words)).digest("hex").slice(0, 16);
  const path = join(cache, `${name}-${digest}.tar`);
  if (existsSync(path)) return path;
  mkdirSync(cache, { recursive: true });
  const fresh = `${path}.${process.pid}.tar`;
  try {
    execFileSync("mmdebstrap", [...words, fresh], { stdio: "pipe" });
    renameSync(fresh, path);
  } finally {
    rmSync(fresh, { force: true });
  }
  return path;
}
