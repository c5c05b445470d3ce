import { Buffer } from "node:buffer";
import { describe, expect, it } from "vitest";
import { ScreenModes } from "./screen-modes.js";

function modesAfter(output: string): ScreenModes {
  const modes = new ScreenModes();
  modes.take(Buffer.from(output));
  return modes;
}

describe("what a program has changed on the screen", () => {
  it("is nothing at first, and nothing when it has undone it itself", () => {
    expect(modesAfter("plain text \x1b[1mbold\x1b[m\r\n").undo()).toBe("");
    expect(
      modesAfter("\x1b[?1049h\x1b[?25l\x1b[?1049l\x1b[?25h\x1b=\x1b>\x1b[>4;2m\x1b[>4;m\x1b[2;5r\x1b[r").undo(),
    ).toBe("");
  });

  it("is undone for whoever looks away", () => {
    const undo = modesAfter("\x1b[?1049h\x1b[?1h\x1b=\x1b[?2004h\x1b[?25l\x1b[?1000;1006h\x1b[>4;2m\x1b[5 q").undo();
    expect(undo).toBe("\x1b[>4m\x1b[0 q\x1b[?2004;1;1000;1006l\x1b[?25h\x1b>\x1b[?1049l");
    expect(modesAfter(`\x1b[?1049h\x1b[?1h\x1b[>4;2m\x1b[5 q${undo}`).undo()).toBe("");
  });

  it("is set again for whoever begins to look", () => {
    const set = modesAfter("\x1b[?1049h\x1b[?25l\x1b[?2004h\x1b[>1u").set();
    expect(set).toBe("\x1b[?1049h\x1b[?2004h\x1b[?25l\x1b[>1u");
    expect(modesAfter(set).undo()).toBe(modesAfter("\x1b[?1049h\x1b[?25l\x1b[?2004h\x1b[>1u").undo());
  });

  it("is gone with a reset of the terminal", () => {
    expect(modesAfter("\x1b[?1049h\x1b[?25l\x1b[>4;1m\x1b[>1u\x1bc").undo()).toBe("");
    expect(modesAfter("\x1b[?1h\x1b[?25l\x1b[?1049h\x1b[!p").undo()).toBe("\x1b[?1049l");
  });

  it("stays small whatever the program does", () => {
    const all = Array.from({ length: 3000 }, (_, mode) => `\x1b[?${mode}h\x1b[>${mode}u`).join("");
    expect(modesAfter(all).undo().length).toBeLessThan(256);
    expect(modesAfter(all).set().length).toBeLessThan(1024);
  });
});
