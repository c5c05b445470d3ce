/**
 * What a terminal shows, read from the text that `tmux capture-pane -e` gives: characters, and SGR sequences between them.
 * Any other sequence is an error: a picture must show what was on the screen, not most of it.
 */

import { characterWidth } from "./character-width.js";
import { BACKGROUND, FOREGROUND, faded, paletteColour, rgbColour } from "./colours.js";

export interface Look {
  readonly colour: string;
  /** Null: the terminal's own. */
  readonly behind: string | null;
  readonly isBold: boolean;
  readonly isItalic: boolean;
  readonly isUnderlined: boolean;
  readonly isStruck: boolean;
}

export interface Cell {
  readonly text: string;
  readonly column: number;
  readonly width: 1 | 2;
  readonly look: Look;
}

interface State {
  colour: string | null;
  behind: string | null;
  readonly set: Set<number>;
}

const ESCAPE = "\u001b";
/** A sequence of SGR, or one character. */
const PIECE = new RegExp(`${ESCAPE}\\[[0-9;:]*m|.`, "gsu");

const BOLD = 1;
const FAINT = 2;
const ITALIC = 3;
const UNDERLINED = 4;
const INVERSE = 7;
const HIDDEN = 8;
const STRUCK = 9;

/** One list of cells for each line. */
export function screenCells(captured: string): readonly (readonly Cell[])[] {
  const state: State = { colour: null, behind: null, set: new Set() };
  return captured.split("\n").map((line) => cellsOf(line, state));
}

/** Without colours and without the blanks behind lines. */
export function screenText(captured: string): string {
  const lines = screenCells(captured).map((cells) => cells.map(({ text }) => text).join(""));
  return lines
    .map((line) => line.trimEnd())
    .join("\n")
    .trimEnd();
}

function cellsOf(line: string, state: State): readonly Cell[] {
  const cells: Cell[] = [];
  let column = 0;
  for (const [piece = ""] of line.matchAll(PIECE)) {
    if (piece.length > 1 && piece.startsWith(ESCAPE)) {
      apply(state, piece.slice(2, -1));
      continue;
    }
    if (/^\p{Cc}/u.test(piece)) throw new Error(`the screen has a sequence that is no colour: ${JSON.stringify(line)}`);
    const width = characterWidth(piece);
    const last = cells.at(-1);
    if (width === 0) {
      if (last !== undefined) cells[cells.length - 1] = { ...last, text: last.text + piece };
      continue;
    }
    cells.push({ text: state.set.has(HIDDEN) ? " " : piece, column, width, look: lookOf(state) });
    column += width;
  }
  return cells;
}

function lookOf({ colour, behind, set }: State): Look {
  const front = colour ?? FOREGROUND;
  const isInverse = set.has(INVERSE);
  const shown = isInverse ? (behind ?? BACKGROUND) : front;
  const back = isInverse ? front : behind;
  return {
    colour: set.has(FAINT) ? faded(shown, back ?? BACKGROUND) : shown,
    behind: back,
    isBold: set.has(BOLD),
    isItalic: set.has(ITALIC),
    isUnderlined: set.has(UNDERLINED),
    isStruck: set.has(STRUCK),
  };
}

function apply(state: State, parameters: string): void {
  const codes = parameters.split(/[;:]/).map(Number);
  while (codes.length > 0) {
    const code = codes.shift() ?? 0;
    if (code === 38 || code === 48) setColour(state, code === 38 ? "colour" : "behind", extended(codes));
    else if (code === 58) extended(codes);
    else applyOne(state, code);
  }
}

function applyOne(state: State, code: number): void {
  const { set } = state;
  if (code === 0) {
    set.clear();
    state.colour = null;
    state.behind = null;
  } else if (code <= 9) set.add(code);
  else if (code === 22) {
    set.delete(BOLD);
    set.delete(FAINT);
  } else if (code >= 23 && code <= 29) set.delete(code - 20);
  else if (code >= 30 && code <= 37) state.colour = paletteColour(code - 30);
  else if (code === 39) state.colour = null;
  else if (code >= 40 && code <= 47) state.behind = paletteColour(code - 40);
  else if (code === 49) state.behind = null;
  else if (code >= 90 && code <= 97) state.colour = paletteColour(code - 82);
  else if (code >= 100 && code <= 107) state.behind = paletteColour(code - 92);
}

function setColour(state: State, which: "colour" | "behind", colour: string | null): void {
  if (colour !== null) state[which] = colour;
}

/** Takes what follows 38 or 48: `5;n` or `2;r;g;b`. */
function extended(codes: number[]): string | null {
  const kind = codes.shift();
  if (kind === 5) return paletteColour(codes.shift() ?? 0);
  if (kind !== 2) return null;
  const [red = 0, green = 0, blue = 0] = codes.splice(0, 3);
  return rgbColour(red, green, blue);
}
