import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { actors } from "../../support/actors.js";
import { runCli, runIn } from "../../support/run-cli.js";
import { own, runOutside } from "../support/process-programs.js";

const TITLE = "\u001b]0;owned\u0007";
const CLEAR = "\u001b[2J";
const C1 = "\u009b31m";

/** Control characters that a terminal would act on; our own lines end with a newline and have no other. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const RAW = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/;

describe("P8 escape sequences in names and errors that our own messages repeat", () => {
  describe.each(actors)("as $name", (actor) => {
    it("outside, a shell repeats such a name as it is", async () => {
      const ran = await runOutside(actor, ["bash", "-c", `./${TITLE}x`]);
      expect(ran.stderr).toMatch(RAW);
    });

    it.each([
      ["a command that is not there", [TITLE], 127],
      ["a command with a path", [`/nowhere/${CLEAR}`], 127],
      ["a folder as command", ["/usr"], 126],
      ["a working folder", ["--workdir", `/x${TITLE}`, "true"], 125],
      ["an option", [`--${CLEAR}`, "true"], 125],
      ["a value", ["--memory", TITLE, "true"], 125],
      ["a choice", ["--profile", `${C1}x`, "true"], 125],
      ["a mount that is not there", ["--mount", `/nowhere${TITLE}:/x`, "true"], 125],
      ["a place for a mount", ["--mount", `/usr:relative${CLEAR}:ro`, "true"], 125],
      ["a user", ["--user", `${TITLE}:1`, "true"], 125],
      ["an environment variable", ["--env", `${CLEAR}=`, "--env", `=${TITLE}`, "true"], 125],
      ["a domain", ["--allow-domain", TITLE, "true"], 125],
      ["an image", ["--image", TITLE, "true"], 125],
      ["a backend", ["--backend", TITLE, "true"], 125],
    ])("%s", async (_name, words, status) => {
      const cwd = actor.folder();
      const ran = await runCli(actor, ["run", ...words], { cwd });
      expect(ran.status).toBe(status);
      expect(ran.stderr).toMatch(/^agentkernel: /m);
      expect(ran.stderr).not.toMatch(RAW);
      const json = await runCli(actor, ["run", "--json", ...words], { cwd });
      expect(json.stdout + json.stderr).not.toMatch(RAW);
    });

    it("a verb and a word after it", async () => {
      for (const words of [[TITLE], ["policy", TITLE], ["version", CLEAR], ["completions", TITLE], ["help", TITLE]]) {
        const ran = await runCli(actor, words);
        expect(ran.stderr + ran.stdout).not.toMatch(RAW);
        expect(ran.stderr).not.toBe("");
      }
    });

    it("names of files that are not carried over", async () => {
      const cwd = actor.folder();
      const attack = `mkdir -p .git/hooks; touch ".git/hooks/$1" "$1.pem" ".env$1"; mkfifo "$1"`;
      const ran = await runIn(actor, ["--workspace", "sync", "sh", "-c", attack, "sh", TITLE], { cwd });
      expect(ran.stderr).toMatch(/not carried over.*\\x1b\]0;owned\\x07/);
      expect(ran.stderr).not.toMatch(RAW);
      const json = await runIn(actor, ["--json", "--workspace", "sync", "sh", "-c", attack, "sh", TITLE], { cwd });
      expect(json.stdout).not.toMatch(RAW);
    });

    it("a project folder whose own name has them", async () => {
      const cwd = join(actor.folder(), TITLE);
      mkdirSync(cwd);
      own(actor, cwd);
      writeFileSync(join(cwd, "file"), "");
      for (const options of [
        [],
        ["--workspace", "mount"],
        ["--mount", `${cwd}/none:/x`],
        ["--mount", `${cwd}:/proc:ro`],
      ]) {
        const ran = await runIn(actor, [...options, "true"], { cwd });
        expect(ran.stderr).not.toMatch(RAW);
      }
    });

    it("what the command itself prints is its own business and passes unchanged", async () => {
      const ran = await runIn(actor, ["printf", "%s", TITLE]);
      expect(ran.stdout).toBe(TITLE);
    });
  });
});
