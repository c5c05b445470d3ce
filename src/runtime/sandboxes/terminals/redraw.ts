/**
 * What somebody is sent who begins to look at a terminal, or has missed some of it: the last of what it showed, from a
 * place where that makes sense, without the questions in it, and the settings that hold now.
 */
import { Buffer } from "node:buffer";
import { EscapeScanner } from "./escape-scanner.js";
import { isQuestion, type Span, without } from "./questions.js";
import type { ScreenModes } from "./screen-modes.js";
import type { Scrollback } from "./scrollback.js";

/** How much of it somebody gets who has missed some: more would only make them late again. */
const CATCH_UP_BYTES = 65_536;
/** How far the beginning is looked for. */
const SEARCHED_BYTES = 4096;

const OTHER_SCREEN = /^\[\?(?:[\d;]*;)?(?:1049|1047|47)([hl])$/;
/** Colours, and the usual characters. */
const PLAIN = "\x1b[m\x1b(B\x0f";

export function firstLook(scrollback: Scrollback, modes: ScreenModes): Buffer {
  if (scrollback.isEmpty) return Buffer.alloc(0);
  const { isOtherScreen, bytes, after } = readable(scrollback.last(), scrollback.isCut, modes);
  return Buffer.concat([Buffer.from(`${PLAIN}${isOtherScreen ? "\x1b[?1049h" : ""}`), bytes, after]);
}

/** For a terminal that may be in the middle of anything. */
export function catchUp(scrollback: Scrollback, modes: ScreenModes): Buffer {
  const { isOtherScreen, bytes, after } = readable(scrollback.last(CATCH_UP_BYTES), true, modes);
  // A sequence that was cut off is cancelled; then the right screen, empty.
  const before = `\x18\x1b\\${PLAIN}\x1b[?1049${isOtherScreen ? "h" : "l"}\x1b[r\x1b[H\x1b[2J`;
  return Buffer.concat([Buffer.from(before), bytes, after]);
}

interface Readable {
  /** Which screen it begins on. */
  readonly isOtherScreen: boolean;
  readonly bytes: Buffer;
  /** What follows it. */
  readonly after: Buffer;
}

function readable(bytes: Buffer, isCut: boolean, modes: ScreenModes): Readable {
  const asked: Span[] = [];
  const turns: { readonly isOn: boolean; readonly at: number }[] = [];
  const scanner = new EscapeScanner();
  scanner.scan(bytes, (sequence) => {
    if (isQuestion(sequence)) asked.push(sequence);
    const turn = sequence.kind === "csi" ? OTHER_SCREEN.exec(sequence.body)?.[1] : undefined;
    if (turn !== undefined) turns.push({ isOn: turn === "h", at: sequence.start });
  });
  const [first] = turns;
  // The end of a full-screen program of which the beginning is gone would be drawn over the wrong screen.
  const from = !isCut ? 0 : first?.isOn === false ? first.at : lineStart(bytes);
  const spans = asked.filter(({ start }) => start >= from).map((span) => shifted(span, from));
  // What went before the held part may have set something, so all that holds is said again; but not in the middle of
  // a sequence, of which the rest is still to come.
  const after = scanner.isInside ? "" : modes.set(true);
  return {
    isOtherScreen: isCut && first === undefined && modes.isOtherScreen,
    bytes: without(bytes.subarray(from), spans),
    after: Buffer.from(after),
  };
}

function shifted({ start, end }: Span, by: number): Span {
  return { start: start - by, end: end - by };
}

/** Neither in the middle of a character nor of a sequence, as far as that can be had. */
function lineStart(bytes: Buffer): number {
  const searched = bytes.subarray(0, SEARCHED_BYTES);
  const newline = searched.indexOf(0x0a);
  return newline >= 0 ? newline + 1 : Math.max(0, searched.indexOf(0x1b));
}
