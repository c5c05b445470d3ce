/**
 * One viewer of a terminal, with what it has not taken yet. One that cannot keep up is left behind: what waits for it
 * is dropped, and when it takes something again it is shown where things stand.
 */
import type { Buffer } from "node:buffer";
import type { TerminalSize } from "../../../core/exec.js";
import type { TerminalEnd, TerminalViewer } from "./viewer.js";

/** Beyond this a viewer is left behind. More than the sandbox may send ahead, so that one alone never is for that. */
export const VIEWER_BYTES = 524_288;
/** Below this there is room for more. */
const ROOM_BYTES = 65_536;
const PIECE_BYTES = 65_536;

interface SeatContext {
  /** It has taken something. */
  progressed(): void;
  /** What a viewer that was left behind is shown. */
  catchUp(): Buffer;
}

export class Seat {
  readonly #viewer: TerminalViewer;
  readonly #home: SeatContext;
  size: TerminalSize | null;
  #queue: Buffer[] = [];
  /** With what is on its way. */
  #waiting = 0;
  #isWriting = false;
  #isBehind = false;
  #isOver = false;
  #end: TerminalEnd | null = null;
  /** Told with the next piece: a program that changes it again and again must not fill anything with that. */
  #undo = "";
  #sentUndo = "";

  constructor(viewer: TerminalViewer, context: SeatContext) {
    this.#viewer = viewer;
    this.#home = context;
    this.size = viewer.size;
  }

  /** What it has missed is not to come any more. */
  get isBehind(): boolean {
    return this.#isBehind;
  }

  get hasRoom(): boolean {
    return this.#waiting < ROOM_BYTES;
  }

  /** The bytes must not change afterwards. */
  push(bytes: Buffer): void {
    if (this.#isOver || this.#isBehind || bytes.length === 0) return;
    this.#waiting += bytes.length;
    if (this.#waiting > VIEWER_BYTES && this.#isWriting) {
      this.leaveBehind();
      return;
    }
    for (let at = 0; at < bytes.length; at += PIECE_BYTES) this.#queue.push(bytes.subarray(at, at + PIECE_BYTES));
    this.#pump();
  }

  /** It hears of it when it takes what is on its way to it. */
  leaveBehind(): void {
    if (this.#isBehind || !this.#isWriting) return;
    this.#isBehind = true;
    this.#queue = [];
  }

  /** Everything that is held of the terminal, instead of what waits. */
  replace(bytes: Buffer): void {
    this.#queue = [];
    this.#waiting = 0;
    this.push(bytes);
  }

  undoChanged(undo: string): void {
    this.#undo = undo;
  }

  drained(): void {
    if (!this.#isOver) this.#viewer.drained?.();
  }

  /** After what waits. */
  end(end: TerminalEnd): void {
    this.#end = end;
    this.#pump();
  }

  leave(): void {
    this.#isOver = true;
    this.#queue = [];
    this.#waiting = 0;
  }

  #pump(): void {
    if (this.#isWriting || this.#isOver) return;
    const piece = this.#queue.shift();
    if (piece === undefined) {
      if (this.#end === null) return;
      this.leave();
      this.#viewer.end(this.#end);
      return;
    }
    if (this.#undo !== this.#sentUndo) {
      this.#sentUndo = this.#undo;
      this.#viewer.undoChanged?.(this.#undo);
    }
    this.#isWriting = true;
    let isTaken = false;
    this.#viewer.write(piece, () => {
      if (isTaken) return;
      isTaken = true;
      this.#isWriting = false;
      this.#waiting = Math.max(0, this.#waiting - piece.length);
      this.#taken();
    });
  }

  #taken(): void {
    if (this.#isOver) return;
    if (this.#isBehind) {
      this.#isBehind = false;
      this.#waiting = 0;
      this.push(this.#home.catchUp());
    }
    this.#home.progressed();
    this.#pump();
  }
}
