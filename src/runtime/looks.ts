/**
 * What was looked at on the host to decide something, so that whoever asks again need not decide again: where everything
 * is still the same file with the same change time, so is the decision. What is not there, or not for this user, is null.
 */
import { lstatSync, readdirSync, realpathSync, type Stats, statSync } from "node:fs";
import { readRegularFile } from "../core/regular-file.js";
import { PathWatch } from "./path-watch.js";

/** Changes within one tick of the kernel's clock share their time. */
const TICK_MS = 50;
/** A directory above may have been replaced by a symlink to it, which no time tells. */
const LASTS_MS = 10_000;

/** Found unchanged so often in a row, they are watched: to stat dozens of files takes 100 µs and more of each run. */
const WATCHED_AFTER = 8;

type Links = "followed" | "seen";
/** What of a file counts beside which one it is: its change time, only of what is no directory, or nothing. */
type Counts = "changes" | "changes of files" | "identity";

interface Look {
  readonly path: string;
  readonly links: Links;
  readonly counts: Counts;
  readonly stats: Stats | null;
}

export class Looks {
  readonly #looks = new Map<string, Look>();
  readonly #begunAtMs = Date.now();
  #confirmed = 0;
  /** Doubled with each watch, so that a busy directory is not watched anew all the time. */
  #watchedAfter = WATCHED_AFTER;
  #watch: PathWatch | null = null;
  /** What the watch says nothing of. */
  #unwatched: readonly Look[] = [];

  stats(path: string, links: Links = "followed"): Stats | null {
    // A directory that was seen was only asked whether it is a symlink.
    return this.#look(path, links, links === "seen" ? "changes of files" : "changes");
  }

  /** Free of symlinks. */
  real(path: string): string | null {
    if (!path.startsWith("/") || this.#look(path, "followed", "identity") === null) return null;
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
    const isSame = this.#isSame();
    if (!isSame) this.#watch?.close();
    return isSame;
  }

  #isSame(): boolean {
    const age = Date.now() - this.#begunAtMs;
    if (age < 0 || age > LASTS_MS) return false;
    const isStill = (look: Look): boolean => isUnchanged(look, this.#begunAtMs);
    if (this.#watch?.isQuiet) return this.#unwatched.every(isStill);
    // The event may have been about something else in the same directory.
    this.#watch = null;
    if (this.#confirmed++ === this.#watchedAfter) this.#startWatch(LASTS_MS - age);
    return [...this.#looks.values()].every(isStill);
  }

  #startWatch(lastsMs: number): void {
    const looks = [...this.#looks.values()];
    this.#confirmed = 0;
    this.#watchedAfter *= 2;
    const paths = new Set(looks.map(({ path }) => path));
    const contents = looks.filter(
      ({ counts, stats }) => counts === "changes" || (counts !== "identity" && !stats?.isDirectory()),
    );
    const watch = PathWatch.open(paths, new Set(contents.map(({ path }) => path)), lastsMs);
    this.#watch = watch;
    if (watch !== null) this.#unwatched = looks.filter(({ path }) => !watch.covered.has(path));
  }

  #look(path: string, links: Links, counts: Counts): Stats | null {
    const key = `${counts} ${path}`;
    const before = this.#looks.get(key);
    if (before !== undefined) return before.stats;
    const stats = look(path, links);
    this.#looks.set(key, { path, links, counts, stats });
    return stats;
  }
}

/** Whether a path has the same file as before, or none. */
function isUnchanged({ path, links, counts, stats: before }: Look, lookedAtMs: number): boolean {
  const now = look(path, links);
  if (before === null || now === null) return before === now;
  if (before.ino !== now.ino || before.dev !== now.dev) return false;
  if (counts === "identity" || (counts === "changes of files" && before.isDirectory())) return true;
  return before.ctimeMs < lookedAtMs - TICK_MS && before.ctimeMs === now.ctimeMs;
}

function look(path: string, links: Links): Stats | null {
  try {
    return (links === "seen" ? lstatSync : statSync)(path, { throwIfNoEntry: false }) ?? null;
  } catch {
    return null;
  }
}
