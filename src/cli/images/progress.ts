/** Layers on their way, a line each, redrawn in place. Only for a person at a terminal; elsewhere nothing is drawn. */
import { digestHex, type LayerProgress } from "../../images/index.js";
import type { Invocation } from "../../invocation/index.js";
import { sizeText } from "./text.js";

interface Screen {
  readonly columns: number;
  readonly rows: number;
  write(text: string): void;
}

const REDRAW_MS = 100;
const MAX_LINES = 12;

export class LayerBars {
  readonly #screen: Screen;
  readonly #now: () => number;
  readonly #layers = new Map<string, LayerProgress>();
  #drawnLines = 0;
  #drawnAtMs = Number.NEGATIVE_INFINITY;

  constructor(screen: Screen, now: () => number = () => performance.now()) {
    this.#screen = screen;
    this.#now = now;
  }

  update(progress: LayerProgress): void {
    this.#layers.set(progress.digest, progress);
    if (this.#now() - this.#drawnAtMs < REDRAW_MS) return;
    this.#draw();
  }

  /** Takes the bars away: what is said next stands where they were. */
  clear(): void {
    if (this.#drawnLines > 0) this.#screen.write(`\x1b[${this.#drawnLines}A\r\x1b[J`);
    this.#drawnLines = 0;
  }

  #draw(): void {
    const lines = this.#lines();
    const back = this.#drawnLines > 0 ? `\x1b[${this.#drawnLines}A` : "";
    this.#screen.write(`${back}\r\x1b[J${lines.map((line) => `${line}\n`).join("")}`);
    this.#drawnLines = lines.length;
    this.#drawnAtMs = this.#now();
  }

  /** Those that are under way first; what finds no room is counted. */
  #lines(): string[] {
    const all = [...this.#layers.values()];
    const isDone = ({ doneBytes, totalBytes }: LayerProgress): boolean => doneBytes >= totalBytes;
    const active = all.filter((layer) => !isDone(layer));
    const done = all.length - active.length;
    const room = Math.max(1, Math.min(MAX_LINES, this.#screen.rows - 2));
    const shown = active.slice(0, room).map((layer) => barLine(layer, this.#screen.columns));
    const more = active.length - shown.length;
    const rest = more === 0 ? "" : `, ${more} more waiting`;
    return [...shown, `${done} of ${all.length} layers are here${rest}`.slice(0, this.#screen.columns - 1)];
  }
}

function barLine({ digest, doneBytes, totalBytes }: LayerProgress, columns: number): string {
  const name = digestHex(digest).slice(0, 12);
  const sizes = `${sizeText(doneBytes)} / ${sizeText(totalBytes)}`;
  const width = Math.min(40, columns - name.length - sizes.length - 7);
  const filled = Math.floor((totalBytes === 0 ? 1 : doneBytes / totalBytes) * Math.max(0, width));
  const bar = width < 5 ? "" : ` [${"#".repeat(filled)}${".".repeat(width - filled)}]`;
  return `${name}${bar} ${sizes}`.slice(0, columns - 1);
}

/** The bars of the caller's terminal; null where there is none, or where nobody is to see them. */
export function terminalBars(quiet: boolean, { stderr, env }: Pick<Invocation, "stderr" | "env">): LayerBars | null {
  if (quiet || !stderr.isTerminal || env.TERM === "dumb") return null;
  return new LayerBars({
    get columns() {
      // Some terminals say that they have none.
      return stderr.size()?.cols || 80;
    },
    get rows() {
      return stderr.size()?.rows || 24;
    },
    write: (text) => {
      void stderr.write(text);
    },
  });
}
