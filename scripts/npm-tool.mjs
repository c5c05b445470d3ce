// A program from npm that only some scripts of this checkout use, as the lock file in a directory of scripts names it. It
// lies outside the checkout, so that another checkout need not fetch it again: in the user's cache, in a directory named
// after the lock file's content.
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
import { basename, join } from "node:path";

const UNUSED_MS = 30 * 24 * 3_600_000;
const files = ["package.json", "package-lock.json"];

/**
 * @param description the directory with package.json and package-lock.json
 * @returns the directory whose node_modules has it, fetched on the first call
 */
export function npmTool(
  description,
  cache = join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "agentkernel", basename(description)),
) {
  mkdirSync(cache, { recursive: true, mode: 0o700 });
  // What lies here is executed.
  const { uid, mode } = lstatSync(cache);
  if (uid !== process.getuid() || (mode & 0o022) !== 0)
    throw new Error(`Others can write to ${cache}, whose programs would run. Remove it, or make it yours alone.`);
  const entry = entryName(description);
  if (!readdirSync(cache).includes(entry)) install(description, cache, entry);
  const now = new Date();
  utimesSync(join(cache, entry), now, now);
  for (const name of readdirSync(cache)) {
    // Of another checkout, or of a call that was killed.
    const path = join(cache, name);
    if (now.getTime() - lstatSync(path).mtimeMs > UNUSED_MS) rmSync(path, { recursive: true, force: true });
  }
  return join(cache, entry);
}

export function entryName(description) {
  const digest = createHash("sha256");
  for (const name of files) digest.update(readFileSync(join(description, name)));
  return digest.digest("hex").slice(0, 16);
}

/** By rename: an entry is whole or not there. Without scripts of packages. */
function install(description, cache, entry) {
  const what = Object.keys(JSON.parse(readFileSync(join(description, "package.json"), "utf8")).dependencies).join(", ");
  console.log(`installing ${what} into ${cache}`);
  const fresh = mkdtempSync(join(cache, ".new-"));
  try {
    for (const name of files) cpSync(join(description, name), join(fresh, name));
    const words = ["ci", "--ignore-scripts", "--no-audit", "--no-fund"];
    const { status } = spawnSync("npm", words, { cwd: fresh, stdio: ["ignore", "inherit", "inherit"] });
    if (status !== 0) throw new Error(`npm could not install ${what}. Check the registry of npm, or the network.`);
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
