import { describe, expect, test } from "vitest";
import { allowedByBoth, refuseUnlessAllowed, whyInvalidCommandName } from "./commands.js";
import { resolve } from "./resolve.js";

const origins = { "proc.commands.allow": "a.toml:1", "proc.commands.deny": "a.toml:2" };
const run = (argv0: string, allow: readonly string[] | null, deny: readonly string[] = []) =>
  refuseUnlessAllowed(argv0, { allow, deny }, origins);

describe("commands by name", () => {
  test.each(["npm", "/usr/bin/npm", "./npm"])("%s is npm", (word) => {
    expect(() => run(word, ["npm"])).not.toThrow();
    expect(() => run(word, null, ["npm"])).toThrow("denied by a.toml:2");
  });

  test("what is not in the list of those allowed is refused, and deny wins", () => {
    expect(() => run("curl", ["npm"])).toThrow("not among those that a.toml:1 allows");
    expect(() => run("npm", [])).toThrow();
    expect(() => run("npm", ["npm"], ["npm"])).toThrow("denied");
    expect(() => run("npm", null)).not.toThrow();
  });

  test("two lists of those allowed both hold, and denied ones add up", () => {
    expect(allowedByBoth(["a", "b"], ["b", "c"])).toEqual(["b"]);
    expect(allowedByBoth(null, ["b"])).toEqual(["b"]);
    expect(allowedByBoth(["b"], null)).toEqual(["b"]);
    const layer = (origin: string, allow: string[], deny: string[]) => [
      { origin, fields: { "proc.commands.allow": allow, "proc.commands.deny": deny } },
    ];
    const { policy } = resolve({ userWide: layer("u", ["a", "b"], ["x"]), project: layer("p", ["b", "c"], ["y"]) });
    expect(policy.proc.commands).toEqual({ allow: ["b"], deny: ["x", "y"] });
    const empty = resolve({ userWide: layer("u", ["a"], []), project: layer("p", [], []) });
    expect(empty.policy.proc.commands.allow).toEqual([]);
  });

  test.each(["", "a b", "/bin/sh", "a\n", 5, null])("%j is no name of a program", (value) => {
    expect(whyInvalidCommandName(value)).not.toBeNull();
  });
});
