/** `setup`: shows before it does, does it once, and takes it away again. */
import { chownSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Actor, actors } from "../support/actors.js";
import { clientOf } from "../support/daemon.js";
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

    const other = await runCli(client, ["setup", "--service", "serve", "--yes"]);
    expect(other.stdout).toContain("\n+Conflicts=agentkernel.service\n");
    const lines = other.stdout.slice(other.stdout.indexOf("written; ")).trimEnd().split("\n").slice(1);
    expect(lines).toEqual([
      "  systemctl --user disable --now agentkernel.service",
      "  systemctl --user daemon-reload",
      "  systemctl --user enable --now agentkernel-serve.service",
    ]);

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

  it("ends with what doctor finds, after saying what each backend needs and costs", async () => {
    const { stdout } = await runCli(actor, ["setup", "--print"]);
    expect(stdout).toMatch(/^linux: works.*\n {2}needs Linux with user namespaces.*\n {2}costs nothing to download/);
    expect(stdout).toMatch(/\nLayers\n✓ userns .*\n(.*\n)+Backends\n✓ linux /);
  });

  it("an uninstall shows what it would take, takes it all, and ends what runs", async () => {
    const { client, path, config } = configured(actor);
    const [state, data] = [actor.folder("state"), actor.folder("data")];
    const variables = { ...client.variables, XDG_STATE_HOME: state, XDG_DATA_HOME: data };
    const whole = clientOf({ ...client, variables });
    await runCli(whole, ["setup", "--service", "daemon", "--yes"]);
    await runCli(whole, ["create", "box", "--no-network"], { cwd: actor.folder() });
    expect((await runCli(whole, ["start", "box"])).status).toBe(0);
    const foreign = join(dirname(path), "agentkernel-serve.service");
    writeFileSync(foreign, "[Service]\n");
    const settings = join(config, "agentkernel");
    mkdirSync(settings);
    writeFileSync(join(settings, "config.toml"), "");

    const shown = await runCli(whole, ["setup", "--uninstall", "--print"]);
    for (const line of [
      `${path}: a service`,
      `${state}/agentkernel: sandboxes that stay`,
      `${config}/agentkernel: settings`,
    ])
      expect(shown.stdout).toContain(`  ${line}`);
    expect((await runCli(whole, ["setup", "--uninstall"])).stderr).toContain("nobody can be asked here");
    expect((await runCli(whole, ["list", "--json"])).stdout).toContain('"running"');

    const halfway = await runCli(whole, ["setup", "--uninstall", "--keep-data", "--yes"]);
    expect(halfway).toMatchObject({ status: 0 });
    expect(halfway.stderr).toContain(`left alone: ${foreign} was not written by agentkernel setup\n`);
    expect(existsSync(foreign)).toBe(true);
    expect(existsSync(path)).toBe(false);
    expect(existsSync(join(state, "agentkernel", "sandboxes", "box", "sandbox.json"))).toBe(true);
    expect((await runCli(whole, ["daemon", "status", "--json"])).stdout).toContain('"up":false');

    await runCli(whole, ["start", "box"]);
    if (actor.uid !== 0) {
      const refused = await runCli(whole, ["setup", "--uninstall", "--yes"]);
      expect(refused.stderr).toContain(`not removed: ${settings}\n  hint: `);
      chownSync(settings, actor.uid, actor.gid);
      await runCli(whole, ["create", "box", "--no-network"], { cwd: actor.folder() });
      await runCli(whole, ["start", "box"]);
    }
    const removed = await runCli(whole, ["setup", "--uninstall", "--yes", "--json"]);
    expect((JSON.parse(removed.stdout) as Json).data).toMatchObject({ done: true, ended: 1 });
    for (const folder of [state, data, config]) expect(existsSync(join(folder, "agentkernel"))).toBe(false);
    const nothing = await runCli(whole, ["setup", "--uninstall", "--print"]);
    expect(nothing.stdout).toContain("nothing: there are no files of ours");
    const unclear = await runCli(whole, ["setup", "--uninstall", "--service", "daemon"]);
    expect(unclear).toMatchObject({ status: 125 });
    expect((await runCli(whole, ["setup", "--keep-data"])).stderr).toContain("--keep-data belongs to --uninstall");
  });
});

describe.each(actors.filter(({ name }) => name === "user"))("as $name, at a terminal", (actor) => {
  it("asks what is wanted, does that, and ends with doctor", () => {
    const { client, path } = configured(actor);
    const asked = verbOnTerminal(
      client,
      ["setup"],
      [{ expect: "started at each login\\? \\[y/N\\] " }, { type: "y\n" }],
    );
    expect(asked.output).toMatch(/written; to start it now[\s\S]*Layers\r\n/);
    expect(existsSync(path)).toBe(true);
  });
});
