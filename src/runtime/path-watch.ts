/**
 * Paths that were looked at and the directories above them, watched by inotify: until one of their names changes, another
 * look would find the same. The first event of such a name ends the watch.
 */
import { type FSWatcher, lstatSync, statfsSync, watch } from "node:fs";
import { basename, dirname } from "node:path";

/** A user may watch only so many (`fs.inotify.max_user_watches`), and other programs need some too. */
const MOST_WATCHED = 128;
/** A directory as busy as this, `/tmp` during a build, is not worth its events. */
const MOST_UNRELATED = 500;

/** By the magic number of `statfs`: only this kernel changes them. inotify reports no change that a file server made. */
const LOCAL_FILE_SYSTEMS: ReadonlySet<number> = new Set([
  0xef53, // ext2, ext3, ext4
  0x58465342, // XFS
  0x9123683e, // Btrfs
  0x2fc12fc1, // ZFS
  0xf2f52010, // F2FS
  0x01021994, // tmpfs
  0x794c7630, // overlayfs
]);

/** Of a watched file or directory: which names in it count, or every event. */
type Names = Set<string> | "all";

export class PathWatch {
  /** Of what was asked for; of other paths it says nothing, such as those that lead through a symlink. */
  readonly covered: ReadonlySet<string>;
  readonly #watchers: FSWatcher[] = [];
  readonly #timer: NodeJS.Timeout;
  #isQuiet = true;
  #unrelated = 0;

  private constructor(covered: ReadonlySet<string>, watched: ReadonlyMap<string, Names>, lastsMs: number) {
    this.covered = covered;
    this.#timer = setTimeout(() => this.close(), lastsMs).unref();
    try {
      for (const [path, names] of watched) this.#watch(path, names);
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /**
   * Null where nothing can be watched. What is to be compared has to be looked at after this. `contents`: those of which
   * the time of the last change counts too, and not only which file it is.
   */
  static open(paths: ReadonlySet<string>, contents: ReadonlySet<string>, lastsMs: number): PathWatch | null {
    const covered = new Set<string>();
    const watched = new Map<string, Names>();
    try {
      for (const path of paths) {
        const chain = chainOf(path);
        if (chain === null) continue;
        covered.add(path);
        for (const [at, name] of chain) {
          const names = watched.get(at) ?? new Set();
          if (contents.has(at)) watched.set(at, "all");
          else if (names !== "all") watched.set(at, name === null ? names : names.add(name));
        }
      }
      if (covered.size === 0 || watched.size > MOST_WATCHED || ![...watched.keys()].every(isLocal)) return null;
      return new PathWatch(covered, watched, lastsMs);
    } catch (error) {
      // Then everything is looked at each time, as without a watch.
      if (error instanceof Error && "code" in error) return null;
      throw error;
    }
  }

  /** Nothing has happened since it was opened. */
  get isQuiet(): boolean {
    return this.#isQuiet;
  }

  close(): void {
    this.#isQuiet = false;
    clearTimeout(this.#timer);
    for (const watcher of this.#watchers.splice(0)) watcher.close();
  }

  #watch(path: string, names: Names): void {
    // An event of the watched file itself has its own name.
    const own = basename(path);
    const watcher = watch(path, { persistent: false }, (_, name) => {
      const isRelated = names === "all" || name === null || name === own || names.has(name);
      if (isRelated || ++this.#unrelated > MOST_UNRELATED) this.close();
    });
    watcher.on("error", () => this.close());
    this.#watchers.push(watcher);
  }
}

/**
 * What exists of a path and the directories above it, each with the name in it that leads on. The file itself is in it,
 * since a change through another hard link is no event of this directory. Null where a symlink is on the way.
 */
function chainOf(path: string): readonly (readonly [at: string, name: string | null])[] | null {
  const chain: [string, string | null][] = [];
  let name: string | null = null;
  for (let at = path; ; at = dirname(at)) {
    const stats = lstatSync(at, { throwIfNoEntry: false });
    if (stats?.isSymbolicLink()) return null;
    if (stats !== undefined) chain.push([at, name]);
    if (at === "/") return chain;
    name = basename(at);
  }
}

function isLocal(path: string): boolean {
  return LOCAL_FILE_SYSTEMS.has(statfsSync(path).type);
}
