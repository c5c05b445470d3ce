import { Buffer } from "node:buffer";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DetachKeys, parseDetachKeys, USUAL_DETACH_KEYS } from "./detach-keys.js";

describe("the words for keys", () => {
  it("are single characters and ctrl with one", () => {
    expect(parseDetachKeys(USUAL_DETACH_KEYS)).toEqual([16, 17]);
    expect(parseDetachKeys("ctrl-a,d")).toEqual([1, 100]);
    expect(parseDetachKeys("ctrl-@,ctrl-[,ctrl-\\,ctrl-],ctrl-^,ctrl-_,CTRL-Z,~")).toEqual([
      0, 27, 28, 29, 30, 31, 26, 126,
    ]);
  });

  it.each(["", "ctrl-", "ctrl-1", "ctrl-ab", "ab", "ctrl-a,", " ", "é", "\x1b[31m", Array(17).fill("a").join()])(
    "that are none are refused: %j",
    (text) => {
      expect(() => parseDetachKeys(text)).toThrow(/^--detach-keys: /);
    },
  );
});

describe("what is typed", () => {
  const through = (keys: string, ...chunks: readonly string[]) => {
    const detach = new DetachKeys(parseDetachKeys(keys));
    let typed = "";
    for (const chunk of chunks) {
      const { bytes, isDetached } = detach.take(Buffer.from(chunk));
      typed += bytes.toString();
      if (isDetached) return `${typed}|`;
    }
    return typed + detach.letGo().toString();
  };

  it("leaves at the keys, in one piece or in several, and nothing after them is typed", () => {
    expect(through("ctrl-p,ctrl-q", "ls\x10\x11rest")).toBe("ls|");
    expect(through("ctrl-p,ctrl-q", "ls\x10", "\x11")).toBe("ls|");
  });

  it("goes through where the keys do not come to an end", () => {
    expect(through("ctrl-p,ctrl-q", "\x10", "x\x10", "\x10\x11")).toBe("\x10x\x10|");
    expect(through("ctrl-p,ctrl-q", "a\x10")).toBe("a\x10");
  });

  it("finds keys that begin within what looked like them", () => {
    expect(through("a,a,b", "aaab")).toBe("a|");
    expect(through("a,b,a,b,c", "ababa", "bc")).toBe("ab|");
  });

  it("is cut at the first place of the keys, whatever is typed", () => {
    const letters = fc.array(fc.constantFrom("a", "b", "c"), { maxLength: 30 });
    fc.assert(
      fc.property(letters, fc.array(fc.constantFrom("a", "b", "c"), { minLength: 1, maxLength: 4 }), (typed, keys) => {
        const text = typed.join("");
        const at = text.indexOf(keys.join(""));
        expect(through(keys.join(","), ...typed)).toBe(at < 0 ? text : `${text.slice(0, at)}|`);
      }),
    );
  });
});
