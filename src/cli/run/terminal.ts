/** The user's terminal while a command has one inside: raw, resized along, and always given back as it was. */
import { spawnSync } from "node:child_process";
import { isatty } from "node:tty";
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
  // Only a terminal is touched through process.stdin: any other stdin has a reader of its own on that descriptor.
  const terminal = isatty(0) ? process.stdin : null;
  const restore = () => {
    process.stdout.off("resize", resize);
    terminal?.setRawMode(false);
    process.off("exit", restore);
  };
  if (terminal) {
    terminal.setRawMode(true);
    // Node's raw mode still turns each newline into two characters; a full-screen program means what it writes.
    spawnSync("stty", ["-opost"], { stdio: ["inherit", "ignore", "ignore"] });
  }
  process.on("exit", restore);
  return restore;
}
