/**
 * What was looked at on the host to decide something, so that whoever asks again need not decide again: where everything
 * is still the same file with the same change time, so is the decision. What is not there, or not for this user, is null.
 */
import { lstatSync, readdirSync, realpathSync, type Stats, statSync } from "node:fs";
import { readRegularFile } from "../core/regular-file.js";

/** Changes within one tick of the kernel's clock share their time. */
const TICK_MS = 50;
/** A directory above may have been replaced by a symlink to it, which no time tells. */
const LASTS_MS = 10_000;

type Links = "followed" | "seen";

export class Looks {
  readonly #seen = new Map<string, Stats | null>();
  readonly #followed = new Map<string, Stats | null>();
  /** Of these it only counts which file it is. */
  readonly #found = new Map<string, Stats | null>();
  readonly #begunAtMs = Date.now();

  stats(path: string, links: Links = "followed"): Stats | null {
    return remembered(links === "seen" ? this.#seen : this.#followed, path, links);
  }

  /** Free of symlinks. */
  real(path: string): string | null {
    if (!path.startsWith("/") || remembered(this.#found, path, "followed") === null) return null;
    try {
      return realpathSync.native(path);
    } catch {
      return null;
    }
  }

  names(directory: string): readonly string[] {
    this.stats(directory);
    try {
      return readdirSync(directory);
    } catch {
      return [];
    }
  }

  /** "" where there is no such file. A project's own may be anything, such as a pipe. */
  text(path: string, mostBytes: number): string {
    if (this.stats(path)?.isFile() !== true) return "";
    try {
      return readRegularFile(path, mostBytes).toString("utf8");
    } catch {
      return "";
    }
  }

  isDirectory(path: string): boolean {
    return this.stats(path)?.isDirectory() === true;
  }

  /** Whether everything would look the same now. */
  isCurrent(): boolean {
    const age = Date.now() - this.#begunAtMs;
    if (age < 0 || age > LASTS_MS) return false;
    const isUnchanged = (before: Stats, now: Stats) =>
      before.ctimeMs < this.#begunAtMs - TICK_MS && before.ctimeMs === now.ctimeMs;
    // A directory that was seen was only asked whether it is a symlink.
    const isStill = (before: Stats, now: Stats) => before.isDirectory() || isUnchanged(before, now);
    return (
      isSame(this.#found, "followed", () => true) &&
      isSame(this.#followed, "followed", isUnchanged) &&
      isSame(this.#seen, "seen", isStill)
    );
  }
}

function remembered(known: Map<string, Stats | null>, path: string, links: Links): Stats | null {
  const before = known.get(path);
  if (before !== undefined) return before;
  const found = look(path, links);
  known.set(path, found);
  return found;
}

/** Whether each path has the same file, or none, as before; of files that are there, `isEqual` says the rest. */
function isSame(
  known: ReadonlyMap<string, Stats | null>,
  links: Links,
  isEqual: (before: Stats, now: Stats) => boolean,
): boolean {
  for (const [path, before] of known) {
    const now = look(path, links);
    if (before === null || now === null) {
      if (before !== now) return false;
    } else if (before.ino !== now.ino || before.dev !== now.dev || !isEqual(before, now)) return false;
  }
  return true;
}

function look(path: string, links: Links): Stats | null {
  try {
    return (links === "seen" ? lstatSync : statSync)(path, { throwIfNoEntry: false }) ?? null;
  } catch {
    return null;
  }
}
