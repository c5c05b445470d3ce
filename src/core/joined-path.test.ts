import { join } from "node:path";
import { expect, test } from "vitest";
import { joinedPath } from "./joined-path.js";

test("a path is the one that join makes, the first time and again, however many others were asked for", () => {
  const pairs = [
    ["/a", "b"],
    ["/a/", "b"],
    ["/a/../b//", "./c"],
    ["/a", "b/c"],
    ["", "a"],
  ] as const;
  for (let round = 0; round < 3; round++) {
    for (const [folder, name] of pairs) expect(joinedPath(folder, name)).toBe(join(folder, name));
    for (let other = 0; other < 300; other++) {
      expect(joinedPath(`/other/${other}`, "x")).toBe(`/other/${other}/x`);
      expect(joinedPath("/same", `${other}`)).toBe(`/same/${other}`);
    }
  }
});
