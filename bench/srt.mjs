/** What our way out is compared with: another sandbox for agents, whose programs reach the network through its proxy. */
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CannotRun } from "./cannot-run.mjs";

const PACKAGE = "@anthropic-ai/sandbox-runtime";

let installed;

/** Installed into the benchmark's own folder; it needs bubblewrap, socat and ripgrep on the machine. */
export function srt(folder, allowedHost) {
  installed ??= install(join(folder, "srt"));
  const settings = join(folder, "srt", `settings-${allowedHost}.json`);
  const network = { allowedDomains: [allowedHost], deniedDomains: [] };
  writeFileSync(settings, JSON.stringify({ network, filesystem: { denyRead: [], allowWrite: ["."], denyWrite: [] } }));
  return [installed, "--settings", settings, "-c"];
}

function install(folder) {
  for (const program of ["bwrap", "socat", "rg"]) execFileSync("sh", ["-c", `command -v ${program}`]);
  mkdirSync(folder);
  try {
    execFileSync("npm", ["install", "--silent", "--no-audit", "--no-fund", "--prefix", folder, PACKAGE], {
      stdio: "ignore",
    });
  } catch (cause) {
    throw new CannotRun(`npm could not install ${PACKAGE}`, { cause });
  }
  return join(folder, "node_modules", ".bin", "srt");
}
