// VitePress, as the lock file beside this one names it. It lies outside the checkout, so that another checkout need not
// fetch it again: in the user's cache, in a directory named after the lock file's content.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  cpSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  utimesSync,
} from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const description = dirname(fileURLToPath(import.meta.url));
const UNUSED_MS = 30 * 24 * 3_600_000;
const files = ["package.json", "package-lock.json"];

/** @returns the directory whose node_modules has it, fetched on the first call */
export function vitePress(
  cache = join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "agentkernel", "docs-site"),
) {
  mkdirSync(cache, { recursive: true, mode: 0o700 });
  // What lies here is executed.
  const { uid, mode } = lstatSync(cache);
  if (uid !== process.getuid() || (mode & 0o022) !== 0)
    throw new Error(`docs: others can write to ${cache}, whose programs would run. Remove it, or make it yours alone.`);
  const entry = entryName();
  if (!readdirSync(cache).includes(entry)) install(cache, entry);
  const now = new Date();
  utimesSync(join(cache, entry), now, now);
  for (const name of readdirSync(cache)) {
    // Of another checkout, or of a call that was killed.
    const path = join(cache, name);
    if (now.getTime() - lstatSync(path).mtimeMs > UNUSED_MS) rmSync(path, { recursive: true, force: true });
  }
  return join(cache, entry);
}

export function entryName() {
  const digest = createHash("sha256");
  for (const name of files) digest.update(readFileSync(join(description, name)));
  return digest.digest("hex").slice(0, 16);
}

/** By rename: an entry is whole or not there. Without scripts of packages. */
function install(cache, entry) {
  console.log(`docs: installing VitePress into ${cache}`);
  const fresh = mkdtempSync(join(cache, ".new-"));
  try {
    for (const name of files) cpSync(join(description, name), join(fresh, name));
    const words = ["ci", "--ignore-scripts", "--no-audit", "--no-fund"];
    const { status } = spawnSync("npm", words, { cwd: fresh, stdio: ["ignore", "inherit", "inherit"] });
    if (status !== 0)
      throw new Error("docs: npm could not install VitePress. Check the registry of npm, or the network.");
    try {
      renameSync(fresh, join(cache, entry));
    } catch (error) {
      // Another call was first.
      if (error.code !== "ENOTEMPTY" && error.code !== "EEXIST") throw error;
    }
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}
