import { expect, test } from "vitest";
import { understand } from "./understand.js";

test("words that cannot change are understood once, and others each time", () => {
  const words = Object.freeze(["run", "--memory", "64m", "true"]);
  const first = understand(words);
  expect(first.verb.name).toBe("run");
  expect(first.parsed.rest).toEqual(["true"]);
  expect(understand(words)).toBe(first);
  expect(understand([...words])).toEqual(first);
  const open = ["run", "true"];
  understand(open);
  open[1] = "false";
  expect(understand(open).parsed.rest).toEqual(["false"]);
});

test("a verb that does not exist is refused every time", () => {
  const words = Object.freeze(["rnu"]);
  expect(() => understand(words)).toThrow("rnu");
  expect(() => understand(words)).toThrow("rnu");
});
