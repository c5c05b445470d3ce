/** A window of tmux on the stage: it is typed into as a person would, and what it shows is read with its colours. */
import { spawnSync } from "node:child_process";
import { screenText } from "../svg/screen-cells.js";

const DEADLINE_MS = 90_000;
/** Between two looks at the screen. */
const LOOK_MS = 100;
/** So many looks must show the same before the screen is taken for finished. */
const CALM_LOOKS = 15;

interface TerminalOptions {
  readonly columns: number;
  readonly rows: number;
  /** Whether blanks at the ends of lines are read too, for the colour behind them. */
  readonly hasBlanks: boolean;
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  readonly argv: readonly string[];
}

export class Terminal {
  readonly #socket: string;
  readonly #options: TerminalOptions;

  constructor(socket: string, options: TerminalOptions) {
    this.#socket = socket;
    this.#options = options;
    const settings = { "default-terminal": "tmux-256color", status: "off", "focus-events": "on", "exit-empty": "off" };
    const words = Object.entries(settings).flatMap(([name, value]) => ["set-option", "-g", name, value, ";"]);
    const { columns, rows, argv } = options;
    const made = ["new-session", "-d", "-x", String(columns), "-y", String(rows), ...argv];
    this.#tmux("start-server", ";", ...words, ...made);
  }

  type(text: string): void {
    this.#tmux("send-keys", "-l", text);
  }

  /** As tmux calls them: `Enter`, `C-c`. */
  key(...names: readonly string[]): void {
    this.#tmux("send-keys", ...names);
  }

  /** Presses and releases the left button on words that the screen has, as the terminal would report it. */
  click(words: string): void {
    const lines = screenText(this.captured()).split("\n");
    const row = lines.findIndex((line) => line.includes(words));
    if (row < 0) throw new Error(`"${words}" is not on the screen:\n${lines.join("\n")}`);
    const place = `${(lines[row] ?? "").indexOf(words) + 1};${row + 1}`;
    this.type(`\u001b[<0;${place}M`);
    this.type(`\u001b[<0;${place}m`);
  }

  captured(): string {
    return this.#tmux("capture-pane", "-e", "-p", ...(this.#options.hasBlanks ? ["-N"] : []));
  }

  /** Once the screen has it, with nothing moving any more. */
  async until(wanted: RegExp): Promise<string> {
    let last = "";
    let calm = 0;
    for (const deadline = Date.now() + DEADLINE_MS; ; ) {
      const captured = this.captured();
      calm = captured === last ? calm + 1 : 0;
      last = captured;
      if (wanted.test(screenText(captured)) && calm >= CALM_LOOKS) return captured;
      if (Date.now() > deadline) throw new Error(`${wanted} did not come on the screen:\n${screenText(captured)}`);
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
  }

  /** The program is told to end, and has ended. */
  async leave(typed: string): Promise<void> {
    this.type(typed);
    await this.until(new RegExp(typed));
    this.key("Enter");
    for (const deadline = Date.now() + DEADLINE_MS; this.#tmux("list-sessions") !== ""; ) {
      if (Date.now() > deadline) throw new Error(`${typed} does not end it:\n${screenText(this.captured())}`);
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
  }

  close(): void {
    this.#tmux("kill-server");
  }

  #tmux(...words: readonly string[]): string {
    const { folder, env } = this.#options;
    const result = spawnSync("tmux", ["-S", this.#socket, "-f", "/dev/null", ...words], {
      cwd: folder,
      env: { ...env },
      encoding: "utf8",
    });
    if (result.error) throw result.error;
    if (result.status !== 0) throw new Error(`tmux ${words.join(" ")}: ${result.stderr}`);
    return result.stdout.replace(/\n$/, "");
  }
}
