import { describe, expect, it } from "vitest";
import { namedEnd } from "./ends.js";
import { copyProgress } from "./progress.js";

describe("the ends of a copy", () => {
  it.each([
    ["box:/etc/hosts", { at: "sandbox", sandbox: "box", path: "/etc/hosts" }],
    ["box:src/", { at: "sandbox", sandbox: "box", path: "/workspace/src/" }],
    ["box:/workspace/.", { at: "sandbox", sandbox: "box", path: "/workspace/." }],
    ["box:.", { at: "sandbox", sandbox: "box", path: "/workspace/." }],
    ["box:/a/../../etc", { at: "sandbox", sandbox: "box", path: "/etc" }],
    ["file", { at: "host", path: "/home/u/file" }],
    ["./a:b", { at: "host", path: "/home/u/a:b" }],
    ["/tmp/a:b", { at: "host", path: "/tmp/a:b" }],
    ["../x/", { at: "host", path: "/home/x/" }],
    [".", { at: "host", path: "/home/u/." }],
    ["/", { at: "host", path: "/" }],
  ])("%s is %j", (word, end) => {
    expect(namedEnd(word, "/home/u")).toEqual(end);
  });

  it.each(["", "-", "box:", "a\0b"])("%j is refused", (word) => {
    expect(() => namedEnd(word, "/")).toThrow(/"/);
  });
});

describe("progress of a copy", () => {
  const drawn = (isTerminal: boolean, quiet = false) => {
    const texts: string[] = [];
    let now = 0;
    const stderr = {
      isTerminal,
      write: async (text: string) => {
        texts.push(text);
        return null;
      },
    };
    const progress = copyProgress(quiet, { stderr: stderr as never, env: {} }, () => now);
    progress.update(1);
    now = 150;
    progress.update(2_000_000);
    progress.update(3_000_000);
    progress.clear();
    return texts;
  };

  it("is one line on a terminal, drawn now and then, and taken away", () => {
    expect(drawn(true)).toEqual(["\r\x1b[K1.9 MiB copied", "\r\x1b[K"]);
  });

  it("is nothing elsewhere", () => {
    expect(drawn(false)).toEqual([]);
    expect(drawn(true, true)).toEqual([]);
  });
});
