// Archives whose bytes depend on nothing but what is in them: names in order, one time, no owner.
import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";

/** A `.tar.gz` with the folder at its top. `epochSeconds` is the time of every file in it. */
export function archive({ folder, out, epochSeconds }) {
  const fixed = ["--sort=name", "--format=ustar", "--owner=0", "--group=0", "--numeric-owner", "--mode=u+rw,go+r-w"];
  const tar = ["tar", ...fixed, `--mtime=@${epochSeconds}`, "-C", dirname(folder), "-cf", "-", basename(folder)];
  // -n: neither a name nor a time in gzip's own header.
  execFileSync("sh", ["-c", '"$@" | gzip -n -9 >"$OUT"', "sh", ...tar], { env: { ...process.env, OUT: out } });
}

/** `npm pack`, which has one time and no owner by itself. Returns the file's name. */
export function npmPack({ folder, outFolder, scratch }) {
  mkdirSync(outFolder, { recursive: true });
  const words = ["pack", folder, "--pack-destination", outFolder, "--ignore-scripts", "--json", "--loglevel=error"];
  const env = { ...process.env, npm_config_cache: join(scratch, "npm-cache"), npm_config_update_notifier: "false" };
  const [{ filename }] = JSON.parse(execFileSync("npm", words, { encoding: "utf8", env, cwd: scratch }));
  return filename;
}
