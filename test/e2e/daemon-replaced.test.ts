/** Who makes room for whom: nothing that somebody runs is ended behind their back, nor for one that cannot start. */
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Actor, actors } from "../support/actors.js";
import { ApiServer } from "../support/api-server.js";
import { clientOf, TestDaemon } from "../support/daemon.js";
import { leavesNothingBehind } from "../support/nothing-left.js";
import { runCli, startCli } from "../support/run-cli.js";

interface Status {
  readonly up: boolean;
  readonly pid: number;
  readonly url: string | null;
}

async function statusOf(actor: Actor): Promise<Status> {
  return (JSON.parse((await runCli(actor, ["daemon", "status", "--json"])).stdout) as { data: Status }).data;
}

/** An actor whose daemon and sandboxes are nobody else's. */
function apart(actor: Actor): Actor {
  const client = clientOf(actor);
  const config = actor.folder("config");
  const variables = { ...client.variables, XDG_STATE_HOME: actor.folder("state"), XDG_CONFIG_HOME: config };
  return { ...client, variables };
}

function writeConfig({ variables }: Actor, text: string): void {
  const folder = join(variables?.XDG_CONFIG_HOME ?? "", "agentkernel");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "config.toml"), text);
}

describe.each(actors)("as $name", (actor) => {
  leavesNothingBehind();

  it("a server that runs is neither replaced by another nor reloaded, and stays reachable", async () => {
    const server = await ApiServer.start(actor);
    const { url } = server;
    const second = await runCli(server.actor, ["serve", "--port", "0"]);
    expect(second).toMatchObject({ status: 125, stdout: "" });
    expect(second.stderr).toContain(`agentkernel serve is up in the foreground (process ${server.pid}, ${url})`);
    expect(second.stderr).toContain("hint: end it where it runs (Ctrl-C) or with agentkernel daemon stop");
    const reloaded = await runCli(server.actor, ["daemon", "reload"]);
    expect(reloaded.status).toBe(125);
    expect(reloaded.stderr).toContain("then start it again");
    expect(await statusOf(server.actor)).toMatchObject({ pid: server.pid, url });
    expect((await runCli(server.actor, ["daemon", "status"])).stdout).toContain(`HTTP: ${url}\n`);
    expect((await server.ask("GET", "/health")).status).toBe(200);
    expect(await server.stop()).toBe(0);
  });

  it("a daemon that somebody runs in the foreground is not ended by serve", async () => {
    const client = apart(actor);
    const daemon = new TestDaemon(client);
    await daemon.ready;
    const refused = await runCli(client, ["serve", "--port", "0"]);
    expect(refused.status).toBe(125);
    expect(refused.stderr).toContain(`a daemon is up in the foreground (process ${daemon.pid})`);
    expect(await statusOf(client)).toMatchObject({ up: true, pid: daemon.pid });
    expect(await daemon.stop()).toBe(0);
  });

  it("one in the background makes room for serve, which says so, but not for a serve that cannot start", async () => {
    const client = apart(actor);
    await runCli(client, ["daemon", "start"]);
    const { pid } = await statusOf(client);
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
    const { port } = taken.address() as { port: number };
    for (const [words, message] of [
      [["--port", String(port)], "somebody listens there already"],
      [["--tls-cert", "/dev/null", "--tls-key", "/dev/null"], "is no certificate in PEM"],
      [["--jwks", "/nonexistent", "--jwt-issuer", "i", "--jwt-audience", "a"], "is no set of keys"],
    ] as const) {
      const refused = await runCli(client, ["serve", ...words]);
      expect(refused.status).toBe(125);
      expect(refused.stderr).toContain(message);
      expect(await statusOf(client)).toMatchObject({ up: true, pid });
    }
    taken.close();

    const child = startCli(client, ["serve", "--port", "0"]);
    let said = "";
    child.stderr?.on("data", (chunk: Buffer) => {
      said += String(chunk);
    });
    await new Promise((resolve) => child.stdout?.once("data", resolve));
    expect(said).toContain(`agentkernel: the daemon in the background (process ${pid}) made room`);
    expect((await statusOf(client)).pid).toBe(child.pid);
    child.kill("SIGTERM");
    await new Promise((resolve) => child.once("close", resolve));
  });

  it("a faulty configuration ends no daemon, and keeps nobody from removing sandboxes", async () => {
    const client = apart(actor);
    expect((await runCli(client, ["create", "box"], { cwd: actor.folder() })).status).toBe(0);
    const { pid } = await statusOf(client);
    writeConfig(client, "[daemon]\nlinger = 'long'\n");
    const refused = await runCli(client, ["daemon", "reload"]);
    expect(refused.status).toBe(125);
    expect(refused.stderr).toMatch(/config\.toml:2:/);
    expect(refused.stderr).not.toContain("was replaced");
    expect(await statusOf(client)).toMatchObject({ up: true, pid });
    await runCli(client, ["daemon", "stop"]);
    expect(await runCli(client, ["remove", "--force", "box"])).toMatchObject({ status: 0 });
    await runCli(client, ["daemon", "stop"]);
  });
});
