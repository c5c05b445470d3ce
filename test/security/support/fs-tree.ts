/** Folders as values: made from a description, owned by an actor, and compared before and after an attack. */
import { execFileSync } from "node:child_process";
import {
  chownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import type { Actor } from "../../support/actors.js";

/** Text for a file, `-> target` for a link, null for an empty folder. */
type Tree = Readonly<Record<string, string | null>>;

const LINK = "-> ";

export function plant(actor: Actor, folder: string, tree: Tree): string {
  mkdirSync(folder, { recursive: true });
  for (const [name, content] of Object.entries(tree)) {
    const path = join(folder, name);
    mkdirSync(content === null ? path : dirname(path), { recursive: true });
    if (content?.startsWith(LINK)) symlinkSync(content.slice(LINK.length), path);
    else if (content !== null) writeFileSync(path, content);
  }
  own(actor, folder);
  return folder;
}

/** Gives everything below `folder` to the actor, links themselves included. */
export function own(actor: Actor, folder: string): void {
  if (process.getuid?.() !== 0) return;
  chownSync(folder, actor.uid, actor.gid);
  execFileSync("chown", ["-hR", `${actor.uid}:${actor.gid}`, folder]);
}

/** Every path below `folder` with its kind, mode, owner and content. Two equal values: nothing was changed. */
export function snapshot(folder: string, prefix = ""): Readonly<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    const stats = lstatSync(path);
    const about = `${(stats.mode & 0o177777).toString(8)} ${stats.uid}:${stats.gid}`;
    if (stats.isDirectory()) {
      found[prefix + name] = about;
      Object.assign(found, snapshot(path, `${prefix}${name}/`));
    } else if (stats.isSymbolicLink()) {
      found[prefix + name] = `${about} ${LINK}${readlinkSync(path)}`;
    } else {
      found[prefix + name] =
        stats.isFile() && stats.size < 1 << 20 ? `${about} ${readFileSync(path, "latin1")}` : about;
    }
  }
  return found;
}
