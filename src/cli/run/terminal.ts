/** The user's terminal while a command has one inside: raw, resized along, and always given back as it was. */
import type { TerminalSize } from "../../core/exec.js";
import type { GuestExec } from "../../guest/index.js";

export function terminalSize(): TerminalSize {
  const { columns, rows } = process.stdout;
  return { cols: columns ?? 80, rows: rows ?? 24 };
}

/** Returns how to give the terminal back. */
export function borrowTerminal(exec: GuestExec): () => void {
  const resize = () => exec.resize(terminalSize());
  process.stdout.on("resize", resize);
  const { stdin } = process;
  const isRaw = stdin.isTTY === true;
  const restore = () => {
    process.stdout.off("resize", resize);
    if (isRaw) stdin.setRawMode(false);
    process.off("exit", restore);
  };
  if (isRaw) stdin.setRawMode(true);
  process.on("exit", restore);
  return restore;
}
