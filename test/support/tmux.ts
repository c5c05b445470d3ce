/** A real terminal that a person sits at: a window of tmux with the actor's shell in it, typed into and read. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { type Actor, environmentOf, programOf } from "./actors.js";

const DEADLINE_MS = 60_000;
/** Between two looks at the screen. */
const LOOK_MS = 25;

export const PROMPT = "host> ";

export interface TmuxOptions {
  readonly cols?: number;
  readonly rows?: number;
  readonly cwd?: string;
}

export class Tmux {
  readonly folder: string;
  readonly #actor: Actor;
  readonly #socket: string;
  #isClosed = false;

  /** `agentkernel` is a function of its shell. */
  constructor(actor: Actor, { cols = 80, rows = 24, cwd }: TmuxOptions = {}) {
    this.#actor = actor;
    this.folder = cwd ?? actor.folder("tmux");
    this.#socket = join(actor.folder("tmux"), "socket");
    const size = ["-x", String(cols), "-y", String(rows)];
    this.#tmux("new-session", "-d", ...size, "/bin/sh");
    // Whoever looks at the window from elsewhere must not change its size.
    this.#tmux("set-option", "-g", "window-size", "manual");
    const program = programOf(actor)
      .map((word) => `'${word}'`)
      .join(" ");
    this.type(`PS1='${PROMPT}'; agentkernel() { ${program} "$@"; }; clear\n`);
  }

  /** Newlines are Enter. */
  type(text: string): void {
    for (const [at, line] of text.split("\n").entries()) {
      if (at > 0) this.key("Enter");
      if (line !== "") this.#tmux("send-keys", "-l", line);
    }
  }

  /** As tmux calls them: `C-c`, `Escape`. */
  key(...names: readonly string[]): void {
    this.#tmux("send-keys", ...names);
  }

  /** Nothing of what was on the screen is there any more, when this returns. */
  wipe(): void {
    this.#tmux("send-keys", "-R");
  }

  resize(cols: number, rows: number): void {
    this.#tmux("resize-window", "-x", String(cols), "-y", String(rows));
  }

  /** What is on the screen, without the blanks behind the lines; a line that was too long for it is one line. */
  screen(): string {
    const lines = this.#tmux("capture-pane", "-p", "-J").split("\n");
    return lines
      .map((line) => line.trimEnd())
      .join("\n")
      .trimEnd();
  }

  /** What is on the screen once it is like this. */
  async until(wanted: RegExp): Promise<RegExpExecArray> {
    for (const deadline = Date.now() + DEADLINE_MS; ; ) {
      const screen = this.screen();
      const found = wanted.exec(screen);
      if (found !== null) return found;
      if (Date.now() > deadline) throw new Error(`${wanted} did not come on the screen:\n${screen}`);
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
  }

  /** Whether the program's own screen is shown, as of an editor. */
  get isOtherScreen(): boolean {
    return this.#tmux("display-message", "-p", "#{alternate_on}").trim() === "1";
  }

  /** Also what runs in it hears of it, as when a window is closed. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#tmux("kill-server");
  }

  #tmux(...words: readonly string[]): string {
    const { uid, gid } = this.#actor;
    const result = spawnSync("tmux", ["-S", this.#socket, "-f", "/dev/null", ...words], {
      ...(process.getuid?.() === 0 ? { uid, gid } : {}),
      cwd: this.folder,
      env: { PATH: "/usr/bin:/bin", ...environmentOf(this.#actor) },
      encoding: "utf8",
    });
    if (result.error) throw result.error;
    if (result.status !== 0) throw new Error(`tmux ${words.join(" ")}: ${result.stderr}`);
    return result.stdout;
  }
}
