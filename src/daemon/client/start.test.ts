import { Buffer } from "node:buffer";
import { describe, expect, it } from "vitest";
import { parseStart } from "./start.js";

function records(...list: readonly [string, string | Buffer][]): Buffer {
  return Buffer.concat(
    list.flatMap(([letter, value]) => {
      const bytes = Buffer.from(value);
      const head = Buffer.alloc(5);
      head.write(letter);
      head.writeUInt32LE(bytes.length, 1);
      return [head, bytes];
    }),
  );
}

describe("the first frame", () => {
  it("says what was called, where and with what", () => {
    const window = Buffer.from([80, 0, 24, 0]);
    const start = parseStart(
      records(
        ["a", "run"],
        ["a", ""],
        ["e", "A=b=c"],
        ["e", "A=later"],
        ["e", "__proto__=x"],
        ["c", "/p"],
        ["s", "oto"],
        ["w", window],
      ),
    );
    expect(start).toMatchObject({
      words: ["run", ""],
      cwd: "/p",
      hasInput: true,
      isTerminal: [false, true, false],
      window: { cols: 80, rows: 24 },
    });
    expect(Object.entries(start.env)).toEqual([
      ["A", "b=c"],
      ["__proto__", "x"],
    ]);
  });

  it("may come from a folder that is gone, without input and without a window", () => {
    expect(parseStart(records(["s", "noo"]))).toMatchObject({ cwd: null, hasInput: false, window: null });
  });

  it.each([
    ["cut off in a record", records(["a", "run"], ["s", "ooo"]).subarray(0, -1)],
    ["cut off in a head", Buffer.concat([records(["s", "ooo"]), Buffer.from("a")])],
    ["without its streams", records(["a", "run"])],
    ["with streams of no kind", records(["s", "xyz"])],
    ["with half a window", records(["s", "ooo"], ["w", "ab"])],
  ])("is refused %s", (_, payload) => {
    expect(() => parseStart(payload)).toThrow(RangeError);
  });
});
