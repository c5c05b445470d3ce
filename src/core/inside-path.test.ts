import { expect, it } from "vitest";
import { insidePath } from "./inside-path.js";

it.each([
  ["/srv/app", "/srv/app"],
  ["src", "/workspace/src"],
  ["./src/../lib/", "/workspace/lib"],
  [".", "/workspace"],
  ["/", "/"],
])("%s is %s inside", (text, path) => {
  expect(insidePath(text)).toBe(path);
});

it.each(["", "..", "../other", "src/../../etc", "a\0b"])("%j is no place in the project", (text) => {
  expect(insidePath(text)).toBeNull();
});
