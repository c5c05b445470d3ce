/** `setup`: shows before it does, does it once, and takes it away again. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Actor, actors } from "../support/actors.js";
import { runCli } from "../support/run-cli.js";
import { verbOnTerminal } from "../support/terminal.js";

interface Json {
  readonly data: Readonly<Record<string, unknown>>;
}

function configured(actor: Actor) {
  const config = actor.folder("config");
  const client = { ...actor, variables: { ...actor.variables, XDG_CONFIG_HOME: config } };
  return { client, path: join(config, "systemd", "user", "agentkernel.service"), config };
}

describe.each(actors)("as $name", (actor) => {
  it("tells what is missing, with the commands that repair it, and changes nothing", async () => {
    const result = await runCli(actor, ["setup", "--print"]);
    expect(result.status).toBe(0);
    expect(result.stdout).toMatch(/^linux: works/);
    const { data } = JSON.parse((await runCli(actor, ["setup", "--json"])).stdout) as Json;
    const doctor = JSON.parse((await runCli(actor, ["doctor", "--json"])).stdout) as {
      data: { checks: readonly { name: string; state: string }[] };
    };
    const failing = doctor.data.checks.filter(({ state }) => state === "fails").map(({ name }) => name);
    expect(data).toMatchObject({ ok: true, failures: [] });
    expect((data.missing as readonly { layer: string }[]).map(({ layer }) => layer)).toEqual(failing);
  });

  it("writes the unit once, shows what would change, and takes it away", async () => {
    const { client, path } = configured(actor);
    const shown = await runCli(client, ["setup", "--service", "daemon", "--print"]);
    expect(shown.stdout).toMatch(/agentkernel\.service would be written:\n\+# Written by agentkernel setup/);
    expect(shown.stdout).toMatch(/\nnothing was changed\n$/);
    const unasked = await runCli(client, ["setup", "--service", "daemon"]);
    expect(unasked.status).toBe(125);
    expect(unasked.stderr).toContain("nobody can be asked here");
    expect(existsSync(path)).toBe(false);

    const written = await runCli(client, ["setup", "--service", "daemon", "--yes"]);
    expect(written.stdout).toContain("systemctl --user enable --now agentkernel.service");
    expect(readdirSync(dirname(path))).toEqual(["agentkernel.service"]);
    const text = readFileSync(path, "utf8");
    expect(text).toContain(`ExecStart="${process.execPath}" "${join(actor.dist, "agentkernel.js")}" "daemon" "run"\n`);
    const again = await runCli(client, ["setup", "--service", "daemon", "--json", "--yes"]);
    expect((JSON.parse(again.stdout) as Json).data).toMatchObject({ change: "none", done: false });

    writeFileSync(path, text.replace("RestartSec=2", "RestartSec=9"));
    const changed = await runCli(client, ["setup", "--service", "daemon", "--yes"]);
    expect(changed.stdout).toContain("\n-RestartSec=9\n+RestartSec=2\n");
    expect(readFileSync(path, "utf8")).toBe(text);

    const removed = await runCli(client, ["setup", "--service", "daemon", "--remove", "--yes"]);
    expect(removed.stdout).toContain("systemctl --user disable --now agentkernel.service");
    expect(existsSync(path)).toBe(false);
  });

  it("asks at a terminal, and takes everything but a yes for a no", () => {
    const { client, path } = configured(actor);
    const words = ["setup", "--service", "daemon"];
    const refused = verbOnTerminal(client, words, [{ expect: "Write this file\\? \\[y/N\\] " }, { type: "\n" }]);
    expect(refused.output).toContain("nothing was changed");
    expect(existsSync(path)).toBe(false);
    const agreed = verbOnTerminal(client, words, [{ expect: "Write this file" }, { type: "y\n" }]);
    expect(agreed.output).toContain("written; to start it now");
    expect(existsSync(path)).toBe(true);
  });

  it("what makes no sense is refused", async () => {
    const { client, path } = configured(actor);
    expect((await runCli(client, ["setup", "--remove"])).stderr).toContain("there is no service named");
    expect((await runCli(client, ["setup", "--service", "web"])).status).toBe(125);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, "[Service]\n");
    const foreign = await runCli(client, ["setup", "--service", "daemon", "--remove", "--yes"]);
    expect(foreign.stderr).toContain("was not written by agentkernel setup");
    expect(existsSync(path)).toBe(true);
  });
});
