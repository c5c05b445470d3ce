/** The user's terminal while a command has one inside: raw, resized along, and always given back as it was. */
import type { TerminalSize } from "../../core/exec.js";
import type { GuestExec } from "../../guest/index.js";
import type { Invocation } from "../invocation/index.js";

const USUAL_SIZE: TerminalSize = { cols: 80, rows: 24 };

export function terminalSize({ stdout }: Pick<Invocation, "stdout">): TerminalSize {
  return stdout.size() ?? USUAL_SIZE;
}

/** Returns how to give the terminal back. */
export function borrowTerminal(invocation: Pick<Invocation, "stdin" | "stdout">, exec: GuestExec): () => void {
  const stopResizing = invocation.stdout.onResize(() => exec.resize(terminalSize(invocation)));
  const restore = invocation.stdin.makeRaw();
  return () => {
    stopResizing();
    restore();
  };
}
