/**
 * Whose turn it is to write. The folder `turn` has exactly one entry: `free`, or the mark of the process that writes.
 * Taking it is a rename, which succeeds for one process only; a holder that died is succeeded by another rename. The
 * file itself is the log's head, so whoever has the turn also knows where the log ends. Works across namespaces and
 * needs no lock of the kernel's, which Node does not offer.
 */
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { holderState, type ProcessMark } from "../core/process-mark.js";
import { isCode } from "./file-errors.js";
import { decodeHead, encodeHead, HEAD_BYTES, type Head } from "./head.js";
import { makeFolder } from "./make-folder.js";
import { isSameTurn, type TurnHolder } from "./turn-holder.js";

const FREE = "free";

/** How the turn came to us. `forced`: its holder lives, does not write, and may wake up at any time. */
type TurnOrigin = "free" | "dead" | "forced" | "made";

export class HeldTurn {
  readonly origin: TurnOrigin;
  /** Null where it is new, or damaged. */
  readonly head: Head | null;
  /** Whom it was taken from although it lives. */
  readonly passedOver: string | null;
  readonly #mine: string;
  readonly #free: string;
  readonly #fd: number;

  /** `mine` and `free` are the entry's two names. */
  constructor(origin: TurnOrigin, mine: string, free: string, passedOver: string | null) {
    this.origin = origin;
    this.passedOver = passedOver;
    this.#mine = mine;
    this.#free = free;
    this.#fd = openSync(this.#mine, "r+");
    const bytes = Buffer.alloc(HEAD_BYTES);
    const length = readSync(this.#fd, bytes, 0, HEAD_BYTES, 0);
    this.head = decodeHead(bytes.toString("latin1", 0, length));
  }

  /** Somebody took the turn away. Asked right before anything is written: what is written now would not count. */
  isLost(): boolean {
    return !existsSync(this.#mine);
  }

  /** False: somebody took the turn away, with what was written under it or without. */
  release(head: Head | null): boolean {
    try {
      if (head !== null) writeSync(this.#fd, encodeHead(head), 0, HEAD_BYTES, 0);
    } catch {
      // A head that could not be written lags behind the log; the next writer reads on from there.
    }
    closeSync(this.#fd);
    try {
      renameSync(this.#mine, this.#free);
      return true;
    } catch (error) {
      if (isCode(error, "ENOENT")) return false;
      throw error;
    }
  }
}

export class Turn {
  readonly #parent: string;
  readonly #folder: string;
  readonly #mark: ProcessMark;
  readonly #mine: string;
  readonly #free: string;

  constructor(parent: string, mark: ProcessMark) {
    this.#parent = parent;
    this.#folder = join(parent, "turn");
    this.#mark = mark;
    this.#mine = join(this.#folder, mark.text);
    this.#free = join(this.#folder, FREE);
  }

  /** The turn, or who has it. From `passedOver` it is taken although that holder lives. */
  tryTake(passedOver: TurnHolder | null = null): HeldTurn | TurnHolder {
    for (;;) {
      const next = this.#rename(this.#free) ? this.#held("free", FREE) : this.#takeFrom(this.#holder(), passedOver);
      if (next !== null) return next;
    }
  }

  /** Null: it moved on while we looked. */
  #takeFrom(holder: string | null, passedOver: TurnHolder | null): HeldTurn | TurnHolder | null {
    if (holder === null) return this.#make() ? this.#held("made", FREE) : null;
    if (holder === FREE) return null;
    const state = holderState(holder, this.#mark);
    if (state !== "dead") {
      const head = statSync(join(this.#folder, holder), { throwIfNoEntry: false });
      if (head === undefined) return null;
      const found = { holder, state, headWrittenMs: head.mtimeMs };
      if (passedOver === null || !isSameTurn(passedOver, found)) return found;
    }
    if (!this.#rename(join(this.#folder, holder))) return null;
    return this.#held(state === "dead" ? "dead" : "forced", holder);
  }

  /** Null: we were held up ourselves, and it was taken from us before we looked at it. */
  #held(origin: TurnOrigin, from: string): HeldTurn | null {
    try {
      if (origin === "forced") this.#replace();
      return new HeldTurn(origin, this.#mine, this.#free, origin === "forced" ? from : null);
    } catch (error) {
      if (isCode(error, "ENOENT")) return null;
      // Such as no more open files: a turn that cannot be used goes back, or everybody would wait for us.
      renameSync(this.#mine, join(this.#folder, from));
      throw error;
    }
  }

  #rename(from: string): boolean {
    try {
      renameSync(from, this.#mine);
      return true;
    } catch (error) {
      if (isCode(error, "ENOENT")) return false;
      throw error;
    }
  }

  /** The one entry; a folder this small is read in one piece, so a rename is seen before or after, never between. */
  #holder(): string | null {
    try {
      return readdirSync(this.#folder)[0] ?? null;
    } catch (error) {
      if (isCode(error, "ENOENT")) return null;
      throw error;
    }
  }

  /** A folder of our own becomes the folder, unless another was first: only an empty one can be replaced. */
  #make(): boolean {
    makeFolder(this.#parent);
    const fresh = join(this.#parent, `new.${this.#mark.text}`);
    mkdirSync(fresh, { mode: 0o700 });
    try {
      closeSync(openSync(join(fresh, this.#mark.text), "wx", 0o600));
      renameSync(fresh, this.#folder);
      return true;
    } catch (error) {
      rmSync(fresh, { recursive: true, force: true });
      if (isCode(error, "ENOTEMPTY") || isCode(error, "EEXIST")) return false;
      throw error;
    }
  }

  /** A holder that wakes up writes into the head that it has open: from now on that is another file. */
  #replace(): void {
    const bytes = Buffer.alloc(HEAD_BYTES);
    const old = openSync(this.#mine, "r");
    const length = readSync(old, bytes, 0, HEAD_BYTES, 0);
    closeSync(old);
    const fresh = join(this.#parent, `new.${this.#mark.text}`);
    const fd = openSync(fresh, "wx", 0o600);
    writeSync(fd, bytes, 0, length, 0);
    closeSync(fd);
    renameSync(fresh, this.#mine);
  }
}

/** The head as it is now, whoever has the turn; null where there is none that can be read. */
export function peekHead(parent: string): { readonly head: Head | null; readonly isFree: boolean } {
  const folder = join(parent, "turn");
  const TRIES = 100;
  for (let attempt = 0; attempt < TRIES; attempt++) {
    try {
      const [entry] = readdirSync(folder);
      if (entry === undefined) return { head: null, isFree: true };
      const fd = openSync(join(folder, entry), "r");
      const bytes = Buffer.alloc(HEAD_BYTES);
      const length = readSync(fd, bytes, 0, HEAD_BYTES, 0);
      closeSync(fd);
      const head = decodeHead(bytes.toString("latin1", 0, length));
      // A head that is being written may be seen half; the next look sees it whole.
      if (head !== null || attempt === TRIES - 1) return { head, isFree: entry === FREE };
    } catch (error) {
      if (!isCode(error, "ENOENT")) throw error;
    }
  }
  return { head: null, isFree: true };
}
