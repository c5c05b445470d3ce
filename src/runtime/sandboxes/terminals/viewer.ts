/** Whoever looks at a terminal and types on it: a command line, a connection of the HTTP interface. */
import type { Buffer } from "node:buffer";
import type { TerminalSize } from "../../../core/exec.js";
import type { ExecInfo } from "../types.js";

/** `released`: this process lets go of the sandbox, and the terminal goes on. */
export type TerminalEnd =
  | { readonly how: "exited"; readonly info: ExecInfo }
  | { readonly how: "lost"; readonly reason: string }
  | { readonly how: "released" };

/** None of it may throw. */
export interface TerminalViewer {
  /** Of its window; null where it has none, and any will do. */
  readonly size: TerminalSize | null;
  /** `taken` is called once it has room for more; until then it is sent nothing else. */
  write(bytes: Buffer, taken: () => void): void;
  /** What gives its terminal back as it was has changed; to be sent when it looks away, however that happens. */
  undoChanged?(undo: string): void;
  /** It may type again, after it was told to wait. */
  drained?(): void;
  /** Once, after everything was written; not after it has left by itself. */
  end(end: TerminalEnd): void;
}

/** A viewer's place at the terminal. */
export interface TerminalSeat {
  /** What was typed. False: wait for `drained` before more. */
  type(bytes: Buffer): boolean;
  resize(size: TerminalSize): void;
  /** Shows everything again. */
  redraw(): void;
  /** What gives the viewer's terminal back as it was before it looked. */
  readonly undo: string;
  /** Leaves; the terminal goes on. Nothing of the viewer is called any more. */
  leave(): void;
}
