/** The user's terminal while a command has one inside: raw, resized along, and always given back as it was. */
import type { TerminalSize } from "../../core/exec.js";
import type { GuestExec } from "../../guest/index.js";
import type { CommandOutput, Invocation } from "../../invocation/index.js";
import { ScreenModes } from "../../runtime/sandboxes/terminals/screen-modes.js";

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

/** What the command changes on the screen is undone by the caller if this process dies with it. */
export function watchScreen(
  sink: CommandOutput["sink"],
  { ifLost }: Pick<Invocation, "ifLost">,
): CommandOutput["sink"] {
  const modes = new ScreenModes();
  let told = "";
  return {
    write(chunk, taken) {
      modes.take(chunk);
      const screen = modes.undo();
      if (screen !== told) ifLost({ screen });
      told = screen;
      sink.write(chunk, taken);
    },
    end: () => sink.end(),
  };
}
