/**
 * A picture of a terminal, as SVG: every run of characters that look the same is one piece of text at its own column, so
 * that lines are straight whatever font the reader has. It never loads anything, and the same screen gives the same bytes.
 */

import { blockShape } from "./block-shapes.js";
import { BACKGROUND, FOREGROUND } from "./colours.js";
import { type Cell, type Look, screenCells } from "./screen-cells.js";

const CELL_WIDTH = 8;
const CELL_HEIGHT = 17;
const FONT_SIZE = 13.3;
/** From the top of a line to what letters stand on. */
const BASE = 13;
const MARGIN = 14;
const BAR_HEIGHT = 30;
const FRAME = "#2b2f38";

interface PictureOptions {
  /** What was captured from the terminal. */
  readonly captured: string;
  readonly columns: number;
  readonly title: string;
  /** For those who cannot see it. */
  readonly description: string;
}

export function terminalPicture({ captured, columns, title, description }: PictureOptions): string {
  const lines = withoutBlankEnds(screenCells(captured));
  const width = columns * CELL_WIDTH + 2 * MARGIN;
  const height = lines.length * CELL_HEIGHT + BAR_HEIGHT + MARGIN;
  const dots = ["#ff5f57", "#febc2e", "#28c840"].map(
    (colour, at) => `<circle cx="${18 + at * 18}" cy="15" r="5.5" fill="${colour}"/>`,
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" xml:space="preserve" role="img" aria-labelledby="title desc">`,
    `<title id="title">${escaped(title)}</title>`,
    `<desc id="desc">${escaped(description)}</desc>`,
    `<style>text{font:${FONT_SIZE}px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono","Liberation Mono",monospace;fill:${FOREGROUND};white-space:pre}.b{font-weight:700}.i{font-style:italic}.u{text-decoration:underline}.s{text-decoration:line-through}</style>`,
    `<rect width="${width}" height="${height}" rx="9" fill="${FRAME}"/>`,
    `<path d="M1 ${BAR_HEIGHT}H${width - 1}V${height - 9}a8 8 0 0 1-8 8H9a8 8 0 0 1-8-8Z" fill="${BACKGROUND}"/>`,
    ...dots,
    `<text x="${width / 2}" y="19.5" text-anchor="middle" fill-opacity=".75">${escaped(title)}</text>`,
    ...lines.flatMap((cells, row) => linePieces(cells, BAR_HEIGHT + 6 + row * CELL_HEIGHT)),
    "</svg>",
    "",
  ].join("\n");
}

function linePieces(cells: readonly Cell[], top: number): readonly string[] {
  const behind = runsOf(cells, (a, b) => a.look.behind === b.look.behind).flatMap((run) => {
    const colour = run[0]?.look.behind ?? null;
    return colour === null ? [] : [rectangle(run, top, colour)];
  });
  const front = runsOf(cells, isSamePiece).map(trimmed).filter(isSeen);
  const shapes = front.filter(isShape).map((run) => shapePiece(run, top));
  const spans = front.filter((run) => !isShape(run)).map((run) => span(run));
  const text = spans.length === 0 ? [] : [`<text y="${top + BASE}">${spans.join("")}</text>`];
  return [...behind, ...shapes, ...text];
}

/** Neighbours of which any two that touch belong together. */
function runsOf(cells: readonly Cell[], isTogether: (a: Cell, b: Cell) => boolean): readonly (readonly Cell[])[] {
  const runs: Cell[][] = [];
  for (const cell of cells) {
    const run = runs.at(-1);
    const last = run?.at(-1);
    if (run !== undefined && last !== undefined && isTogether(last, cell)) run.push(cell);
    else runs.push([cell]);
  }
  return runs;
}

/** A wide character stands alone, for its width is the font's own; so does one that is drawn. */
function isSamePiece(a: Cell, b: Cell): boolean {
  if (a.width === 2 || b.width === 2) return false;
  if (blockShape(a.text) !== blockShape(b.text)) return false;
  return styleOf(a.look) === styleOf(b.look);
}

/** Blanks at either end are seen only where they are underlined. */
function trimmed(run: readonly Cell[]): readonly Cell[] {
  if (run[0]?.look.isUnderlined) return run;
  const from = run.findIndex(({ text }) => text !== " ");
  return from < 0 ? [] : run.slice(from, run.findLastIndex(({ text }) => text !== " ") + 1);
}

function isSeen(run: readonly Cell[]): boolean {
  return run.length > 0;
}

function isShape([first]: readonly Cell[]): boolean {
  return first !== undefined && blockShape(first.text) !== null;
}

function span(run: readonly Cell[]): string {
  const [first] = run;
  if (first === undefined) return "";
  const text = escaped(run.map((cell) => cell.text).join(""));
  // One glyph needs no length; a longer run is held to its cells, and lines of a box must also meet.
  const stretch = /[\u2500-\u257f]{2}/.test(text) ? ' lengthAdjust="spacingAndGlyphs"' : "";
  const length = run.length > 1 ? ` textLength="${cellsWide(run) * CELL_WIDTH}"${stretch}` : "";
  return `<tspan x="${leftOf(first)}"${length}${styleOf(first.look)}>${text}</tspan>`;
}

/** Half and full blocks are drawn, or there would be gaps between lines. */
function shapePiece(run: readonly Cell[], top: number): string {
  const [first] = run;
  const shape = first === undefined ? null : blockShape(first.text);
  if (first === undefined || shape === null) return "";
  const y = top + shape.from * CELL_HEIGHT;
  const height = (shape.to - shape.from) * CELL_HEIGHT;
  const text = run.map((cell) => cell.text).join("");
  return `<rect x="${leftOf(first)}" y="${y}" width="${cellsWide(run) * CELL_WIDTH}" height="${height}" fill="${first.look.colour}"><title>${text}</title></rect>`;
}

function rectangle(run: readonly Cell[], top: number, colour: string): string {
  const [first] = run;
  const left = first === undefined ? MARGIN : leftOf(first);
  return `<rect x="${left}" y="${top}" width="${cellsWide(run) * CELL_WIDTH}" height="${CELL_HEIGHT}" fill="${colour}"/>`;
}

function leftOf({ column }: Cell): number {
  return MARGIN + column * CELL_WIDTH;
}

function cellsWide(run: readonly Cell[]): number {
  return run.reduce((sum, { width }) => sum + width, 0);
}

function styleOf({ colour, isBold, isItalic, isUnderlined, isStruck }: Look): string {
  const classes = [isBold && "b", isItalic && "i", isUnderlined && "u", isStruck && "s"].filter(
    (name) => name !== false,
  );
  const fill = colour === FOREGROUND ? "" : ` fill="${colour}"`;
  return `${fill}${classes.length === 0 ? "" : ` class="${classes.join(" ")}"`}`;
}

function withoutBlankEnds(lines: readonly (readonly Cell[])[]): readonly (readonly Cell[])[] {
  const isFull = (cells: readonly Cell[]): boolean =>
    cells.some(({ text, look }) => text !== " " || look.behind !== null);
  return lines.slice(Math.max(0, lines.findIndex(isFull)), lines.findLastIndex(isFull) + 1);
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
