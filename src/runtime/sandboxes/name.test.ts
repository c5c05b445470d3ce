import { describe, expect, test } from "vitest";
import { checkSandboxName, isSandboxName } from "./name.js";

describe("a name of a sandbox", () => {
  test.each(["a", "0", "box", "my-box_2.1", "a".repeat(63)])("may be %s", (name) => {
    expect(checkSandboxName(name)).toBe(name);
  });

  test.each(["", "-rf", ".hidden", "..", "a..b", "A", "a/b", "a b", "a\n", "ä", "a".repeat(64), "a\u0000"])(
    "must not be %j",
    (name) => {
      expect(isSandboxName(name)).toBe(false);
      expect(() => checkSandboxName(name)).toThrow(/^name: /);
    },
  );

  test("is a text", () => {
    expect(() => checkSandboxName({ name: "a" })).toThrow(/^name: a object cannot name a sandbox$/);
  });
});
