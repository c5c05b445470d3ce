/**
 * What changes in a folder of a sandbox, by looking at it again and again: the guest has no notification of files, and a
 * helper program of the image could be anything. A file that comes and goes between two looks is not seen, and a rename
 * is seen as a removal and a creation.
 */
import { randomBytes } from "node:crypto";
import { posix } from "node:path";
import { AgentKernelError } from "../../core/errors.js";
import type { Sandbox } from "../../runtime/sandboxes/index.js";
import { walk } from "./entries.js";

export interface FileEvent {
  /** From the folder that is watched. */
  readonly name: string;
  readonly type: "CREATE" | "WRITE" | "REMOVE" | "CHMOD";
}

const LOOK_MS = 200;
const MOST_DEPTH = 64;
const MOST_ENTRIES = 20_000;
const MOST_WAITING = 10_000;
const MOST_WATCHERS = 100;

interface Seen {
  readonly key: string;
  readonly mode: number;
}

type View = ReadonlyMap<string, Seen>;

export class DirWatch {
  readonly #sandbox: Sandbox;
  readonly #path: string;
  readonly #recursive: boolean;
  #view: View;
  #waiting: FileEvent[] = [];
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;
  #onEvent: ((event: FileEvent) => void) | null = null;
  #onEnd: () => void = () => {};

  private constructor(sandbox: Sandbox, path: string, recursive: boolean, view: View) {
    this.#sandbox = sandbox;
    this.#path = path;
    this.#recursive = recursive;
    this.#view = view;
    this.#lookLater();
  }

  /** Everything from now on is seen when it resolves. */
  static async open(sandbox: Sandbox, path: string, recursive: boolean): Promise<DirWatch> {
    return new DirWatch(sandbox, path, recursive, await viewOf(sandbox, path, recursive));
  }

  /** Events go there from now on. `onEnd`: nothing can be seen any more. */
  follow(onEvent: (event: FileEvent) => void, onEnd: () => void): void {
    this.#onEvent = onEvent;
    this.#onEnd = onEnd;
    for (const event of this.#waiting.splice(0)) onEvent(event);
  }

  /** What has come to be known since the last time. */
  async taken(): Promise<readonly FileEvent[]> {
    await this.#look();
    return this.#waiting.splice(0);
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  #lookLater(): void {
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => {
      this.#look().then(
        () => this.#lookLater(),
        () => {
          // The folder or its sandbox is gone.
          this.close();
          this.#onEnd();
        },
      );
    }, LOOK_MS).unref();
  }

  async #look(): Promise<void> {
    if (this.#isClosed || this.#sandbox.state === "paused") return;
    const before = this.#view;
    const now = await viewOf(this.#sandbox, this.#path, this.#recursive);
    // Two looks at once would tell of one change twice.
    if (before !== this.#view) return;
    this.#view = now;
    for (const event of changes(before, now)) this.#tell(event);
  }

  #tell(event: FileEvent): void {
    if (this.#onEvent !== null) this.#onEvent(event);
    else if (this.#waiting.length < MOST_WAITING) this.#waiting.push(event);
  }
}

async function viewOf({ files }: Sandbox, path: string, recursive: boolean): Promise<View> {
  const found = await walk(files, path, { depth: recursive ? MOST_DEPTH : 1, most: MOST_ENTRIES });
  return new Map(
    found.map(([inside, { type, sizeBytes, mtimeMs, mode }]) => {
      // A folder's own time changes with what is in it, which is told by itself.
      const key = type === "dir" ? type : `${type} ${sizeBytes} ${mtimeMs}`;
      return [posix.relative(path, inside), { key, mode }];
    }),
  );
}

function* changes(before: View, now: View): Generator<FileEvent> {
  for (const [name] of before) if (!now.has(name)) yield { name, type: "REMOVE" };
  for (const [name, { key, mode }] of now) {
    const was = before.get(name);
    if (was === undefined) {
      yield { name, type: "CREATE" };
      // A file that is there with content has been written to as well.
      if (/^file (?!0 )/.test(key)) yield { name, type: "WRITE" };
    } else if (was.key !== key) yield { name, type: "WRITE" };
    else if (was.mode !== mode) yield { name, type: "CHMOD" };
  }
}

/** Those that a client asks again and again what they have seen. */
export class Watchers {
  readonly #bySandbox = new WeakMap<Sandbox, Map<string, DirWatch>>();

  add(sandbox: Sandbox, watch: DirWatch): string {
    const known = this.#bySandbox.get(sandbox) ?? new Map<string, DirWatch>();
    this.#bySandbox.set(sandbox, known);
    if (known.size >= MOST_WATCHERS) {
      watch.close();
      throw new AgentKernelError("resource_exhausted", `the sandbox has ${MOST_WATCHERS} watchers already`, {
        hint: "remove those that are not used: their handles' stop does it",
      });
    }
    const id = `w${randomBytes(8).toString("hex")}`;
    known.set(id, watch);
    return id;
  }

  find(sandbox: Sandbox, id: string): DirWatch {
    const found = this.#bySandbox.get(sandbox)?.get(id);
    if (found !== undefined) return found;
    throw new AgentKernelError("not_found", `watcher with id ${id} not found`);
  }

  remove(sandbox: Sandbox, id: string): void {
    this.find(sandbox, id).close();
    this.#bySandbox.get(sandbox)?.delete(id);
  }
}
