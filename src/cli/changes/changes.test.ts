import { describe, expect, it } from "vitest";
import type { FileShape, ProjectChange } from "../../core/changes.js";
import { projectPaths } from "../../core/project-paths.js";
import { changeLine } from "./list-text.js";
import { shownChange } from "./shown-change.js";
import { statText } from "./stat-text.js";
import { forTerminal } from "./terminal-patch.js";

const file: FileShape = { type: "file", mode: 0o644, sizeBytes: 3, target: null };
const none = {
  from: null,
  now: null,
  before: null,
  binary: false,
  lines: null,
  conflict: null,
  refused: null,
  review: false,
};
const change = (given: Partial<ProjectChange>): ProjectChange => ({
  ...none,
  change: "modified",
  path: "a",
  now: file,
  before: file,
  ...given,
});

describe("a change as a line", () => {
  it("says what happened, and what is special", () => {
    expect(changeLine(change({}))).toBe("M a\n");
    expect(changeLine(change({ change: "deleted", now: null }))).toBe("D a\n");
    expect(changeLine(change({ change: "renamed", from: "b" }))).toBe("R b -> a\n");
    expect(changeLine(change({ now: { ...file, mode: 0o100755 }, binary: true }))).toBe(
      "M a (mode 644 -> 755; binary)\n",
    );
    const link: FileShape = { ...file, type: "symlink", target: "b\u001b[2J" };
    expect(changeLine(change({ change: "added", before: null, now: link }))).toBe("A a (symlink to b\\x1b[2J)\n");
    expect(changeLine(change({ now: link }))).toBe("M a (file -> symlink)\n");
    const folder: FileShape = { ...file, type: "dir" };
    expect(changeLine(change({ change: "added", before: null, now: folder, binary: null }))).toBe("A a/\n");
    expect(changeLine(change({ conflict: "changed" }))).toBe("M a (conflict: changed)\n");
    expect(changeLine(change({ change: "added", before: null, refused: "hidden" }))).toBe("A a (refused: hidden)\n");
    expect(changeLine(change({ review: true }))).toBe("M a (waits for review)\n");
  });

  it("lets no name steer a terminal", () => {
    expect(changeLine(change({ path: "x\n\u001b]0;y" }))).toBe("M x\\n\\x1b]0;y\n");
  });

  it("is the same as JSON, with modes as people write them", () => {
    expect(shownChange(change({ lines: { added: 2, removed: 1 } }))).toEqual({
      change: "modified",
      path: "a",
      now: { type: "file", mode: "0644", size_bytes: 3 },
      before: { type: "file", mode: "0644", size_bytes: 3 },
      binary: false,
      lines_added: 2,
      lines_removed: 1,
    });
  });
});

describe("how much changed", () => {
  it("is drawn to scale", () => {
    const text = statText([
      change({ path: "long/name", lines: { added: 2, removed: 1 } }),
      change({ path: "b", lines: { added: 0, removed: 100 } }),
      change({ path: "c", binary: true, before: null }),
    ]);
    expect(text.split("\n")).toEqual([
      " long/name |   3 +-",
      ` b         | 100 ${"-".repeat(40)}`,
      " c         | Bin 0 -> 3 bytes",
      " 3 files changed, 2 insertions(+), 101 deletions(-)",
      "",
    ]);
    expect(statText([change({ lines: { added: 1, removed: 1 } })])).toMatch(/1 insertion\(\+\), 1 deletion\(-\)\n$/);
    expect(statText([])).toBe("");
  });
});

describe("paths of a project", () => {
  it("are named from its folder on, or as inside", () => {
    expect(projectPaths(["src/", "./a//b", "/workspace/c"])).toEqual(["src", "a/b", "c"]);
    expect(projectPaths([])).toEqual([]);
    expect(projectPaths(["src", "."])).toEqual([]);
    expect(projectPaths(["/workspace"])).toEqual([]);
  });

  it.each(["/etc/passwd", "..", "a/../../b", "/workspace/../etc", ""])("%j is refused", (word) => {
    expect(() => projectPaths([word])).toThrow(/path/);
  });
});

describe("a patch on a terminal", () => {
  it("has its text made visible, whatever pieces it comes in", async () => {
    async function* patch() {
      yield Buffer.from("+a\tb\u001b[");
      yield Buffer.from("2J\n-c\r");
    }
    let text = "";
    for await (const part of forTerminal(patch())) text += part;
    expect(text).toBe("+a\tb\\x1b[2J\n-c\\r");
  });
});
