/** The colours of a terminal, as numbers of the palette or as red, green and blue become `#rrggbb`. */
export const BACKGROUND = "#16181d";
export const FOREGROUND = "#d7dae0";

const named = [
  ...["#16181d", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#c8ccd4"],
  ...["#6b7280", "#ff7b86", "#b5e08e", "#ffd68a", "#82c4ff", "#de9bf0", "#76d3de", "#ffffff"],
] as const;

/** Levels of the 6×6×6 cube. */
const levels = [0, 95, 135, 175, 215, 255] as const;

/** One of 256: sixteen with names, a cube, a ramp of greys. */
export function paletteColour(index: number): string {
  const own = named[index];
  if (own !== undefined) return own;
  if (index >= 232) {
    const grey = 8 + (index - 232) * 10;
    return rgbColour(grey, grey, grey);
  }
  const at = index - 16;
  const level = (step: number): number => levels[step % 6] ?? 0;
  return rgbColour(level(Math.floor(at / 36)), level(Math.floor(at / 6)), level(at));
}

export function rgbColour(red: number, green: number, blue: number): string {
  return `#${[red, green, blue].map((part) => part.toString(16).padStart(2, "0")).join("")}`;
}

/** As a terminal shows faint text: part of the way to what is behind it. */
export function faded(colour: string, behind: string): string {
  const parts = (text: string): readonly number[] => [1, 3, 5].map((at) => Number.parseInt(text.slice(at, at + 2), 16));
  const back = parts(behind);
  const [red = 0, green = 0, blue = 0] = parts(colour).map((part, at) =>
    Math.round(part * 0.6 + (back[at] ?? 0) * 0.4),
  );
  return rgbColour(red, green, blue);
}
