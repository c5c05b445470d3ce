/** Characters that fill all or half of a cell, from the top of the line to its foot. */
interface BlockShape {
  readonly from: number;
  readonly to: number;
}

const shapes: Readonly<Record<string, BlockShape>> = {
  "█": { from: 0, to: 1 },
  "▀": { from: 0, to: 0.5 },
  "▄": { from: 0.5, to: 1 },
};

/** Null: a character that a font draws. The same object for the same character. */
export function blockShape(text: string): BlockShape | null {
  return shapes[text] ?? null;
}
