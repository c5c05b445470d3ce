import { execFileSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { completionsFor } from "./completions.js";
import { shells, shownVerbs } from "./verbs.js";

/** Asks bash itself for completions of these words, the last of which is being typed. */
function bashOffers(...words: string[]): string[] {
  const script = `agentkernel() { [ "$*" = names ] && printf 'box\\nbasket\\nwork\\n'; }
${completionsFor("bash")}
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _agentkernel; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const output = execFileSync("bash", ["--norc", "-c", script, "bash", "agentkernel", ...words], { encoding: "utf8" });
  return output.split("\n").filter((line) => line !== "");
}

describe("bash", () => {
  test.each([
    [["ru"], ["run"]],
    [["run", "--prof"], ["--profile"]],
    [
      ["run", "--profile", ""],
      ["permissive", "moderate", "restrictive"],
    ],
    [["run", "-p", "re"], ["restrictive"]],
    [
      ["run", "-t", "--network", "o"],
      ["off", "on"],
    ],
    [["run", "--memory", ""], []],
    [["run", "ls", "--prof"], []],
    [["run", "--", "--prof"], []],
    [["run", "-e", "A=1", "--works"], ["--workspace"]],
    [
      ["policy", ""],
      ["explain", "check"],
    ],
    [["policy", "check", "--kind", "us"], ["user"]],
    [["policy", "explain", "--js"], ["--json"]],
    [
      ["images", "p"],
      ["pull", "prune"],
    ],
    [["images", "pull", "--mi"], ["--mirror"]],
    [
      ["images", "export", "--format", ""],
      ["oci", "docker"],
    ],
    [
      ["audit", ""],
      ["list", "tail", "verify"],
    ],
    [["audit", "list", "--si"], ["--since"]],
    [["completions", "f"], ["fish"]],
    [
      ["agents", ""],
      ["install", "uninstall"],
    ],
    [["agents", "--js"], ["--json"]],
    [["agents", "install", "--proj"], ["--project"]],
    [["agents", "install", "op"], ["opencode"]],
    [["hoo"], []],
    [["nam"], []],
    [["exec", "-t", "w"], ["work"]],
    [
      ["remove", "--force", "box", "b"],
      ["box", "basket"],
    ],
    [["diff", "wor"], ["work"]],
    [["diff", "work", "package-l"], ["package-lock.json"]],
  ])("after %j offers %j", (words, offers) => {
    expect(bashOffers(...words)).toEqual(offers);
  });
});

describe.each(shells)("%s", (shell) => {
  const text = completionsFor(shell);

  test("knows every verb, every option and every choice", () => {
    for (const { name, options } of shownVerbs) {
      for (const word of name.split(" ")) expect(text).toContain(word);
      for (const { long, choices = [] } of options) {
        expect(text).toContain(long);
        expect(text).toContain(choices.join(" "));
      }
    }
  });
});
