import { Buffer } from "node:buffer";
import { describe, expect, it } from "vitest";
import { catchUp, firstLook } from "./redraw.js";
import { ScreenModes } from "./screen-modes.js";
import { Scrollback } from "./scrollback.js";

function shown(output: string, mostBytes = 4096): [Scrollback, ScreenModes] {
  const scrollback = new Scrollback(mostBytes);
  const modes = new ScreenModes();
  scrollback.push(Buffer.from(output));
  modes.take(Buffer.from(output));
  return [scrollback, modes];
}

const look = (...[output, most]: Parameters<typeof shown>) => firstLook(...shown(output, most)).toString();
const late = (...[output, most]: Parameters<typeof shown>) => catchUp(...shown(output, most)).toString();
const PLAIN = "\x1b[m\x1b(B\x0f";

describe("whoever begins to look", () => {
  it("sees nothing of a terminal that has shown nothing", () => {
    expect(look("")).toBe("");
  });

  it("sees what was shown, without the questions in it", () => {
    expect(look("$ \x1b[6nls\r\nfile\r\n\x1b]11;?\x07$ ")).toBe(`${PLAIN}$ ls\r\nfile\r\n$ `);
  });

  it("gets the settings that hold now", () => {
    expect(look("\x1b[?2004h$ ")).toBe(`${PLAIN}\x1b[?2004h$ \x1b[?2004h`);
  });

  it("begins with a line where the beginning is gone", () => {
    expect(look("one\ntwo\nthree", 12)).toBe(`${PLAIN}two\nthree`);
  });

  it("is on the program's own screen where that was entered before what is held", () => {
    expect(look(`\x1b[?1049h${"x".repeat(50)}\n~\n~`, 8)).toBe(`${PLAIN}\x1b[?1049h~\n~`);
  });

  it("does not see the end of a full-screen program over its own lines", () => {
    expect(look(`\x1b[?1049h${"x".repeat(50)}\n~~\x1b[?1049l$ ls\n`, 20)).toBe(`${PLAIN}\x1b[?1049l$ ls\n`);
  });

  it("gets no settings in the middle of a sequence, of which the rest is still to come", () => {
    expect(look("\x1b[?2004h$ \x1b[1")).toBe(`${PLAIN}\x1b[?2004h$ \x1b[1`);
  });
});

describe("whoever has missed something", () => {
  it("gets an empty screen first, whatever it was in the middle of", () => {
    expect(late("one\ntwo\n$ ")).toBe(`\x18\x1b\\${PLAIN}\x1b[?1049l\x1b[r\x1b[H\x1b[2Jtwo\n$ `);
  });

  it("is sent no more than it can take in at once", () => {
    expect(late(`${"y\r\n".repeat(80_000)}`, 262_144).length).toBeLessThan(66_000);
  });

  it("is brought to the program's own screen", () => {
    expect(late(`\x1b[?1049h${"x".repeat(90_000)}`, 131_072)).toContain("\x1b[?1049h\x1b[r\x1b[H\x1b[2J");
  });
});
