import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { actors } from "../../support/actors.js";
import { awaitGuest, awaitJail } from "../../support/process-tree.js";
import { runCli, runIn } from "../../support/run-cli.js";
import { WatchedCli } from "../../support/watched-cli.js";
import { runOutside } from "../support/process-programs.js";

const SECRET = "hV7-topsecret-Qm2";

function logOf(state: string): string {
  const folder = join(state, "agentkernel", "audit");
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), "utf8"))
    .join("");
}

/** Command lines and environments of the processes of ours, as the host shows them. */
function shownBy(pids: readonly number[]): string {
  return pids.map((pid) => readFileSync(`/proc/${pid}/cmdline`) + String(readFileSync(`/proc/${pid}/environ`))).join();
}

const commands: readonly (readonly [string, readonly string[], Readonly<Record<string, string>>])[] = [
  ["as an option", ["true", "--password", SECRET], {}],
  ["as an option with =", ["true", `--api-key=${SECRET}`], {}],
  ["as an assignment", ["env", `DB_PASSWORD=${SECRET}`, "true"], {}],
  ["in a header", ["true", "-H", `Authorization: Bearer ${SECRET}`], {}],
  ["in an address", ["true", `https://me:${SECRET}@example.com/`], {}],
  ["in a script", ["sh", "-c", `export TOKEN='${SECRET}'; true --secret "${SECRET}"`], {}],
  ["from a variable that is passed on", ["-e", "MY_TOKEN", "sh", "-c", `true ${SECRET}`], { MY_TOKEN: SECRET }],
  ["from a variable that is set", ["-e", `MY_TOKEN=${SECRET}`, "sh", "-c", `echo ${SECRET} >&2`], {}],
  ["from a variable that stays outside", ["sh", "-c", `true ${SECRET}`], { GITHUB_TOKEN: SECRET }],
  ["as the name of a command that is not there", [`/nowhere/${SECRET}`], { GITHUB_TOKEN: SECRET }],
];

describe("A6 secrets in logs, errors and process lists", () => {
  describe.each(actors)("as $name", (actor) => {
    it("outside, whoever traces a shell has its secrets in the trace", async () => {
      const traced = await runOutside(actor, ["sh", "-xc", `true --password ${SECRET}`]);
      expect(traced.stderr).toContain(SECRET);
    });

    it.each(commands)("%s: not in the audit log, nor in what shows it", async (_title, words, secretEnv) => {
      const state = actor.folder("state");
      const env = { XDG_STATE_HOME: state };
      await runIn(actor, words, { env: { ...env, ...secretEnv }, cwd: actor.folder() });
      const log = logOf(state);
      expect(log).toContain('"type":"exec.start"');
      expect(log).toContain("[redacted]");
      expect(log).not.toContain(SECRET);
      for (const verb of [["list"], ["list", "--json"], ["tail"], ["tail", "--json"]]) {
        const { stdout, stderr } = await runCli(actor, ["audit", ...verb], { env });
        expect(stdout).toContain("exec.start");
        expect(stdout + stderr).not.toContain(SECRET);
      }
    });

    it.each([
      ["a token where a name belongs", ["-e", "ghp_0123456789abcdefABCDEF", "true"], "ghp_0123456789abcdefABCDEF"],
      ["an address where an image belongs", ["-i", `https://me:${SECRET}@example.com/i`, "true"], SECRET],
      ["an address where a domain belongs", ["--allow-domain", `https://me:${SECRET}@x`, "true"], SECRET],
    ])("an error about %s does not repeat it", async (_title, words, secret) => {
      for (const json of [[], ["--json"]]) {
        const ran = await runCli(actor, ["run", ...json, ...words], { cwd: actor.folder() });
        expect(ran.status).toBe(125);
        expect(ran.stdout + ran.stderr).toContain("[redacted]");
        expect(ran.stdout + ran.stderr).not.toContain(secret);
      }
    });

    it("a variable that is passed on is on no command line and in no environment of ours beside the command's", async () => {
      const cli = new WatchedCli(actor, ["run", "--no-network", "-e", "MY_TOKEN", "sh", "-c", "echo up; read end"], {
        env: { MY_TOKEN: SECRET },
        cwd: actor.folder(),
      });
      await cli.until(/up/);
      const jail = awaitJail(cli.pid);
      const ours = shownBy([jail, awaitGuest(jail)]);
      // What the attack looks for is there where the user put it.
      expect(shownBy([cli.pid])).toContain(SECRET);
      cli.type("\n");
      expect(await cli.end).toMatchObject({ status: 0 });
      expect(ours).not.toContain(SECRET);
    });
  });
});
