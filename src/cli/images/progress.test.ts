import { describe, expect, it } from "vitest";
import { digestOf } from "../../images/index.js";
import { LayerBars } from "./progress.js";

const [one, two] = [digestOf("1"), digestOf("2")];

function bars(rows = 24, columns = 80) {
  const written: string[] = [];
  let nowMs = 0;
  const screen = { columns, rows, write: (text: string) => void written.push(text) };
  const made = new LayerBars(screen, () => nowMs);
  const later = (ms: number): void => {
    nowMs += ms;
  };
  return { made, written, later };
}

describe("bars of layers", () => {
  it("show how far each layer is, and are drawn over one another", () => {
    const { made, written, later } = bars();
    made.update({ digest: one, doneBytes: 0, totalBytes: 1000 });
    later(200);
    made.update({ digest: two, doneBytes: 500_000, totalBytes: 1_000_000 });
    expect(written[0]).toContain(`${one.slice(7, 19)} [${".".repeat(40)}] 0 B / 1000 B`);
    expect(written[1]?.startsWith("\x1b[2A\r\x1b[J")).toBe(true);
    expect(written[1]).toContain(`[${"#".repeat(20)}${".".repeat(20)}] 488 KiB / 977 KiB`);
    made.clear();
    expect(written[2]).toBe("\x1b[3A\r\x1b[J");
  });

  it("are drawn ten times a second at most", () => {
    const { made, written, later } = bars();
    for (let step = 0; step < 1000; step += 1) {
      made.update({ digest: one, doneBytes: step, totalBytes: 1000 });
      later(1);
    }
    expect(written).toHaveLength(10);
  });

  it("fit the window, however small, and count what has no room", () => {
    const { made, written, later } = bars(4, 30);
    for (let layer = 0; layer < 20; layer += 1) {
      later(200);
      made.update({ digest: digestOf(String(layer)), doneBytes: 1, totalBytes: 10 ** 9 });
    }
    const lines = (written.at(-1) ?? "")
      .replace(/^[^J]*J/, "")
      .trimEnd()
      .split("\n");
    expect(lines).toHaveLength(3);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(30);
    expect(lines[2]).toBe("0 of 20 layers are here, 18 m");
  });

  it("leave nothing to take away where nothing was drawn", () => {
    const { made, written } = bars();
    made.clear();
    expect(written).toEqual([]);
  });
});
