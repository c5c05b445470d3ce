import { Buffer } from "node:buffer";
import { describe, expect, it } from "vitest";
import { parseStart, StartReader } from "./start.js";

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

describe("a reader of first frames", () => {
  it("has the same value for the same bytes, and another for any others", () => {
    const reader = new StartReader();
    const said = records(["a", "run"], ["e", "KEY=one"], ["c", "/p"], ["s", "ooo"]);
    const lent = Buffer.from(said);
    const first = reader.read(lent);
    // The socket reads the next client's words into the same bytes.
    lent.fill(0);
    expect(reader.read(Buffer.from(said))).toBe(first);
    const other = records(["a", "run"], ["e", "KEY=two"], ["c", "/p"], ["s", "ooo"]);
    expect(reader.read(other).env.KEY).toBe("two");
    expect(reader.read(said)).toEqual(first);
  });

  it("gives nobody what another could change", () => {
    const { env, words } = parseStart(records(["a", "run"], ["e", "KEY=one"], ["s", "ooo"]));
    expect(Object.isFrozen(env) && Object.isFrozen(words)).toBe(true);
  });

  it("forgets nothing over words that make no sense", () => {
    const reader = new StartReader();
    const said = records(["s", "ooo"]);
    const first = reader.read(said);
    expect(() => reader.read(records(["s", "xyz"]))).toThrow(RangeError);
    expect(reader.read(said)).toBe(first);
  });
});
