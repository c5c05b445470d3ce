import { describe, expect, test } from "vitest";
import { BACKGROUND, FOREGROUND, faded, paletteColour } from "./colours.js";
import { terminalPicture } from "./index.js";
import { screenCells, screenText } from "./screen-cells.js";

const ESC = "\x1b";

function picture(captured: string): string {
  return terminalPicture({ captured, columns: 40, title: "a title", description: "what is seen" });
}

/** The looks of the first line, by text. */
function looks(captured: string) {
  const [cells = []] = screenCells(captured);
  return Object.fromEntries(cells.map(({ text, look }) => [text, look]));
}

describe("colours", () => {
  test.each([
    ["[31m", paletteColour(1)],
    ["[91m", paletteColour(9)],
    ["[38;5;208m", "#ff8700"],
    ["[38;5;244m", "#808080"],
    ["[38;2;1;2;255m", "#0102ff"],
    ["[38:2:1:2:255m", "#0102ff"],
    ["[31;39m", FOREGROUND],
    ["[31;0m", FOREGROUND],
    [`[31m${ESC}[m`, FOREGROUND],
    ["[2m", faded(FOREGROUND, BACKGROUND)],
  ])("%j is %s", (sequence, colour) => {
    expect(looks(`${ESC}${sequence}x`).x?.colour).toBe(colour);
  });

  test("behind text are drawn as far as they reach", () => {
    const svg = picture(`ab${ESC}[44mcd ${ESC}[49m e`);
    expect(svg).toContain(`<rect x="30" y="36" width="24" height="17" fill="${paletteColour(4)}"/>`);
    expect(svg.match(/<rect x=/g)).toHaveLength(1);
  });

  test("that are inverted change places", () => {
    expect(looks(`${ESC}[31;42;7mx`).x).toMatchObject({ colour: paletteColour(2), behind: paletteColour(1) });
    expect(looks(`${ESC}[7mx`).x).toMatchObject({ colour: BACKGROUND, behind: FOREGROUND });
    expect(looks(`${ESC}[7mx${ESC}[27my`).y).toMatchObject({ colour: FOREGROUND, behind: null });
  });

  test("last from one line to the next until they are taken back", () => {
    const [, second = []] = screenCells(`${ESC}[31ma\nb`);
    expect(second[0]?.look.colour).toBe(paletteColour(1));
  });
});

test("bold, italic, underlined and struck text is shown so, and ends", () => {
  const svg = picture(`${ESC}[1mb${ESC}[22;3mi${ESC}[23;4mu${ESC}[24;9ms${ESC}[29mp`);
  for (const [letter, name] of Object.entries({ b: "b", i: "i", u: "u", s: "s" })) {
    expect(svg).toContain(`class="${name}">${letter}</tspan>`);
  }
  expect(svg).toMatch(/<tspan x="46">p<\/tspan>/);
});

describe("characters", () => {
  test("that mean something in XML are written so that they are shown", () => {
    const svg = picture(`a <b> & "c"`);
    expect(svg).toContain('>a &lt;b&gt; &amp; "c"</tspan>');
  });

  test("of two columns move what follows by two", () => {
    const [cells = []] = screenCells("a漢✅b");
    expect(cells.map(({ text, column, width }) => [text, column, width])).toEqual([
      ["a", 0, 1],
      ["漢", 1, 2],
      ["✅", 3, 2],
      ["b", 5, 1],
    ]);
    expect(picture("漢b")).toMatch(/<tspan x="14">漢<\/tspan><tspan x="30">b<\/tspan>/);
  });

  test("that join the one before take no column", () => {
    const [cells = []] = screenCells("e\u0301x");
    expect(cells.map(({ text, column }) => [text, column])).toEqual([
      ["e\u0301", 0],
      ["x", 1],
    ]);
  });

  test("that fill a cell are drawn to its edges", () => {
    expect(picture("▀▀")).toMatch(/<rect x="14" y="36" width="16" height="8.5" [^>]*><title>▀▀<\/title><\/rect>/);
    expect(picture("▄")).toMatch(/<rect x="14" y="44.5" width="8" height="8.5" /);
  });

  test("in a run stand in their columns, whatever the font", () => {
    expect(picture("  abc  def  ")).toContain('<tspan x="30" textLength="64">abc  def</tspan>');
  });
});

test("a sequence that is no colour is refused", () => {
  expect(() => screenCells(`a${ESC}[2Jb`)).toThrow(/no colour/);
});

test("the text of a screen has no colours, and no blanks behind its lines", () => {
  expect(screenText(`${ESC}[31ma${ESC}[0m  \n b\n\n`)).toBe("a\n b");
});

test("a picture loads nothing, has a name and a description, and is the same each time", () => {
  const svg = picture(`${ESC}[31mred\n\n`);
  expect(svg).toContain('<title id="title">a title</title>');
  expect(svg).toContain('<desc id="desc">what is seen</desc>');
  expect(svg.replace('xmlns="http://www.w3.org/2000/svg"', "")).not.toMatch(/https?:|href|url\(|<script|<image/);
  expect(picture(`${ESC}[31mred\n\n`)).toBe(svg);
});

test("blank lines at the end of the screen are left out", () => {
  expect(picture("a\n\n\n\n")).toBe(picture("a"));
});
