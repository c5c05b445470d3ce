import { describe, expect, test } from "vitest";
import type { ParsedOptions } from "./option-spec.js";
import { parseOptions } from "./parse-options.js";
import { findVerb } from "./verbs.js";

function parse(...words: string[]): ParsedOptions {
  const { verb, rest } = findVerb(words);
  return parseOptions(verb, rest);
}
const values = (parsed: ParsedOptions) => Object.fromEntries(parsed.values);

describe("options end where the user's command begins", () => {
  test("at the first word that is no option", () => {
    const parsed = parse("run", "--profile", "moderate", "ls", "--json", "-t", "--profile=x");
    expect(parsed.problem).toBeNull();
    expect(values(parsed)).toEqual({ profile: ["moderate"] });
    expect([...parsed.flags]).toEqual([]);
    expect(parsed.rest).toEqual(["ls", "--json", "-t", "--profile=x"]);
  });

  test("after --, which is not part of the command", () => {
    expect(parse("run", "-t", "--", "--weird", "--").rest).toEqual(["--weird", "--"]);
  });

  test("at a lone dash and at an empty word", () => {
    expect(parse("run", "-", "-t").rest).toEqual(["-", "-t"]);
    expect(parse("run", "", "-t").rest).toEqual(["", "-t"]);
  });
});

describe("a verb that takes names and no command", () => {
  test("has its options wherever they stand, until --", () => {
    const parsed = parse("images", "import", "-", "--json", "app:1", "--", "--json");
    expect([...parsed.flags]).toEqual(["json"]);
    expect(parsed.rest).toEqual(["-", "app:1", "--json"]);
  });

  test("refuses an option that it does not have, after a name too", () => {
    expect(parse("images", "pull", "app:1", "--bogus").problem?.message).toMatch(/no option --bogus/);
  });
});

describe("the forms of an option", () => {
  test.each([[["--env", "A=1"]], [["--env=A=1"]], [["-e", "A=1"]], [["-eA=1"]], [["-teA=1"]]])("%j", (words) => {
    expect(values(parse("run", ...words, "x"))).toEqual({ env: ["A=1"] });
  });

  test("repeatable ones keep their order", () => {
    expect(values(parse("run", "-eA=1", "--env", "B", "-e", "C=", "x"))).toEqual({ env: ["A=1", "B", "C="] });
  });

  test("a value may start with a dash, and is data", () => {
    expect(values(parse("run", "--image", "-rf", "x"))).toEqual({ image: ["-rf"] });
  });
});

describe("what is wrong is one sentence with a hint", () => {
  test.each([
    [["run", "--porfile", "x", "ls"], "invalid_argument", "run has no option --porfile", "did you mean --profile?"],
    [["run", "--no-netwrok", "ls"], "invalid_argument", "run has no option --no-netwrok", "did you mean --no-network?"],
    [["run", "-x", "ls"], "invalid_argument", "run has no option -x", "agentkernel run --help"],
    [["run", "--image"], "invalid_argument", "--image needs a value", "--image IMAGE"],
    [["run", "--image", "--tty", "ls"], "invalid_argument", "--image needs a value", "--image IMAGE"],
    [["run", "--tty=yes", "ls"], "invalid_argument", "--tty takes no value", "--help"],
    [["run", "--memory", "1g", "--memory", "2g", "ls"], "invalid_argument", "--memory is given twice", "once"],
    [["run", "--profile", "moderat", "ls"], "invalid_argument", '"moderat" is not one of', "did you mean moderate?"],
    [["run"], "invalid_argument", "run needs a command", "--help"],
    [["run", "--tty"], "invalid_argument", "run needs a command", "--help"],
    [["run", "--"], "invalid_argument", "run needs a command", "--help"],
    [["version", "now"], "invalid_argument", 'version takes no word "now"', "--help"],
    [["completions", "bsah"], "invalid_argument", '"bsah" is not one of', "did you mean bash?"],
    [["completions"], "invalid_argument", "needs one of bash, zsh, fish", "--help"],
    [["completions", "tcsh"], "invalid_argument", '"tcsh" is not one of', "--help"],
  ])("%j", (words, code, message, hint) => {
    const { problem } = parse(...words);
    expect(problem?.code).toBe(code);
    expect(problem?.message).toContain(message);
    expect(problem?.hint).toContain(hint);
  });

  test("--json is understood even where another option is wrong", () => {
    const parsed = parse("run", "--bogus", "--json", "ls");
    expect(parsed.problem).not.toBeNull();
    expect(parsed.flags.has("json")).toBe(true);
  });

  test("help needs no command", () => {
    expect(parse("run", "--help").problem).toBeNull();
  });
});

describe("verbs", () => {
  test.each([
    ["rnu", "did you mean agentkernel run?"],
    ["docter", "did you mean agentkernel doctor?"],
    ["polciy", "did you mean agentkernel policy?"],
    ["policy", "write agentkernel policy explain, or agentkernel policy check"],
    ["zzzzzz", "agentkernel --help lists the verbs"],
  ])("%s is answered with %s", (word, hint) => {
    expect(() => findVerb([word])).toThrow(expect.objectContaining({ code: "invalid_argument", hint }));
  });

  test("a verb may have two words", () => {
    expect(findVerb(["policy", "explain", "--json"])).toMatchObject({
      verb: { name: "policy explain" },
      rest: ["--json"],
    });
  });

  test.each([
    [["ps"], "list", []],
    [["rm", "--force", "box"], "remove", ["--force", "box"]],
    [["shell", "box"], "attach", ["box"]],
    [["kill", "box"], "stop", ["box"]],
    [["snapshot", "list"], "snapshots list", []],
    [["images", "ls", "--json"], "images list", ["--json"]],
    [["rmi", "app:1"], "images remove", ["app:1"]],
    // Of a sandbox that is called "list", a snapshot can still be had.
    [["snapshot", "--", "list"], "snapshot", ["--", "list"]],
  ])("%j is %s", (words, name, rest) => {
    expect(findVerb(words)).toMatchObject({ verb: { name }, rest });
  });
});

describe("habits of other tools", () => {
  test.each([["run"], ["exec"]])("%s -it gives a terminal", (verb) => {
    const parsed = parse(verb, "-it", "box", "bash");
    expect(parsed.problem).toBeNull();
    expect([...parsed.flags]).toEqual(["tty"]);
  });

  test.each([
    [["run", "--rm", "true"], /always removes/],
    [["run", "--name", "box", "true"], /agentkernel create NAME/],
    [["run", "-d", "true"], /exec --detach/],
    [["exec", "-i", "box", "sh"], /standard input/],
    [["create", "--cpus", "2", "box"], /--vcpus/],
  ])("%j has a hint of its own", (words, hint) => {
    expect(parse(...words).problem?.hint).toMatch(hint);
  });

  test("an option is never the value of the one before", () => {
    expect(parse("run", "--image", "-t", "bash").problem?.message).toBe("--image needs a value: IMAGE");
  });
});
