/** A project folder on the host that belongs to the actor, and what is in it. */
import { chownSync, lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Actor } from "./actors.js";

export interface Project {
  readonly path: string;
  /** Every file and folder of it, with its text. */
  content(): Readonly<Record<string, string>>;
}

export function makeProject(actor: Actor, files: Readonly<Record<string, string>>): Project {
  const path = actor.folder("project");
  const own = (made: string) => {
    if (process.getuid?.() === 0) chownSync(made, actor.uid, actor.gid);
  };
  for (const [name, text] of Object.entries(files)) {
    const made = join(path, name);
    const first = mkdirSync(dirname(made), { recursive: true });
    if (first !== undefined) for (let at = dirname(made); at.length >= first.length; at = dirname(at)) own(at);
    writeFileSync(made, text);
    own(made);
  }
  outlastClockTick();
  return { path, content: () => contentOf(path) };
}

/**
 * File times come from a clock that ticks every 1 to 10 ms. What was made in the tick in which a sandbox starts cannot
 * be told from what the host changes afterwards, and counts as that.
 */
export function outlastClockTick(): void {
  for (const until = performance.now() + 20; performance.now() < until; );
}

export function contentOf(folder: string, below = ""): Record<string, string> {
  const found: Record<string, string> = {};
  for (const name of readdirSync(join(folder, below)).sort()) {
    const inner = join(below, name);
    const path = join(folder, inner);
    const kind = lstatSync(path);
    if (kind.isDirectory()) Object.assign(found, { [`${inner}/`]: "" }, contentOf(folder, inner));
    else if (kind.isSymbolicLink()) found[inner] = `-> ${readlinkSync(path)}`;
    else found[inner] = kind.isFile() ? readFileSync(path, "utf8") : "(no file)";
  }
  return found;
}
