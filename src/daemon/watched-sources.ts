/**
 * The sources that a checkout was built from, watched: whoever calls need not look at each of them. The client finds a
 * link named `watched` beside the socket, which says whose they are. A package has none, and there is nothing to watch.
 */
import { type FSWatcher, readFileSync, rmSync, statSync, symlinkSync, watch } from "node:fs";
import { dirname, join } from "node:path";
import { isFileError } from "./file-error.js";

const LINK_NAME = "watched";
const WATCH_AFTER_MS = 200;

export class WatchedSources {
  readonly #dist: string;
  readonly #link: string;
  readonly #watchers: FSWatcher[] = [];
  #paths: readonly string[] = [];
  #maybeChanged = false;
  #isClosed = false;

  private constructor(dist: string, folder: string) {
    this.#dist = dist;
    this.#link = join(folder, LINK_NAME);
  }

  /** `dist` is the folder of the bundle; `folder` that of the daemon's socket, and this daemon's alone. */
  static open(dist: string, folder: string): WatchedSources {
    const sources = new WatchedSources(dist, folder);
    rmSync(sources.#link, { force: true });
    // More than a thousand files: whoever started this process asks for its state first. Without the link, clients look
    // by themselves.
    setTimeout(() => sources.#watch(), WATCH_AFTER_MS).unref();
    return sources;
  }

  /** Whether something is newer than the build. Looks only where something has happened. */
  haveChanged(): boolean {
    if (!this.#maybeChanged) return false;
    const builtMs = modifiedMs(join(this.#dist, ".built"));
    const isNewer = this.#paths.some((path) => (modifiedMs(path) ?? 0) > (builtMs ?? 0));
    this.#maybeChanged = isNewer;
    return isNewer;
  }

  close(): void {
    this.#isClosed = true;
    rmSync(this.#link, { force: true });
    for (const watcher of this.#watchers.splice(0)) watcher.close();
  }

  #watch(): void {
    if (this.#isClosed) return;
    try {
      this.#paths = listed(this.#dist);
      for (const path of this.#paths.filter(isFolder)) this.#watchOne(path);
      // Files at the top, and the list itself.
      for (const path of new Set(this.#paths.map((one) => dirname(one)))) this.#watchOne(path);
      // What happened before it was watched.
      this.#maybeChanged = true;
      if (this.#paths.length > 0) symlinkSync(this.#dist, this.#link);
    } catch (error) {
      // A machine watches only so many folders; then every client looks by itself.
      if (!isFileError(error, "ENOSPC", "EMFILE", "ENOENT", "EACCES")) throw error;
      this.close();
    }
  }

  #watchOne(path: string): void {
    const watcher = watch(path, { persistent: false }, () => {
      this.#maybeChanged = true;
    });
    watcher.on("error", () => this.close());
    this.#watchers.push(watcher);
  }
}

function listed(dist: string): readonly string[] {
  try {
    const names = readFileSync(join(dist, "sources.list"), "utf8").split("\n");
    return names.filter((name) => name !== "").map((name) => join(dirname(dist), name));
  } catch (error) {
    if (isFileError(error, "ENOENT")) return [];
    throw error;
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

function modifiedMs(path: string): number | null {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? null;
}
