/** Verbs that need the daemon: they start it, go through it, and it ends when nothing is left to own. */
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Actor, actors, programOf } from "../support/actors.js";
import { TestDaemon } from "../support/daemon.js";
import { leavesNothingBehind } from "../support/nothing-left.js";
import { caller, endsDaemons, gone, statusOf, until } from "../support/on-demand.js";
import { awaitChild, killNow, spinMs } from "../support/process-tree.js";
import { runOutside } from "../support/run-as.js";
import { runCli, runIn } from "../support/run-cli.js";
import { shellCli } from "../support/shell-cli.js";
import { WatchedCli } from "../support/watched-cli.js";

function stateFolder(actor: Actor): string {
  const folder = actor.folder("kept");
  chmodSync(folder, 0o700);
  return folder;
}

async function removeState(actor: Actor, folder: string): Promise<void> {
  await runCli(actor, ["own", folder]);
  await runCli(actor, ["daemon", "stop", "--all"]);
  rmSync(folder, { recursive: true });
}

describe.each(actors)("as $name", (actor) => {
  leavesNothingBehind();
  endsDaemons();

  it("the daemon is started when it is needed, and serves the verb and those after it", async () => {
    const client = caller(actor);
    expect(await runIn(client, ["echo", "first"])).toMatchObject({ status: 0, stdout: "first\n" });
    const first = await statusOf(client);
    expect(first).toMatchObject({ up: true, on_demand: true, served: 1 });
    expect((await runIn(client, ["sh", "-c", "exit 7"])).status).toBe(7);
    expect(await statusOf(client)).toMatchObject({ pid: first.pid, served: 2 });
  });

  it("the client starts it through the command line that needs none", async () => {
    const client = caller(actor);
    const installed = {
      ...client,
      program: [join(client.dist, "native", "ak-client")],
      variables: { ...client.variables, AGENTKERNEL_NODE: process.execPath },
    };
    expect(await runIn(installed, ["echo", "first"])).toMatchObject({ status: 0, stdout: "first\n" });
    expect(await statusOf(client)).toMatchObject({ on_demand: true, served: 1 });
  });

  it("it has nothing of whoever started it: session, folder, descriptors, secrets", async () => {
    const client = caller(actor);
    const folder = actor.folder();
    const line = "mkfifo held; exec 7<>held 8>kept; agentkernel run --no-network true; echo status $?";
    const result = await shellCli(client, line, { cwd: folder, env: { MY_TOKEN: "of-the-caller", LC_TIME: "C" } });
    expect(result.stdout).toBe("status 0\n");
    const { pid } = await statusOf(client);
    const environment = readFileSync(`/proc/${pid}/environ`, "latin1").split("\0");
    expect(environment).toContain("LC_TIME=C");
    expect(environment.join()).not.toContain("of-the-caller");
    const [, , group, session] = /\) (\w) \d+ (\d+) (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, "latin1")) ?? [];
    expect([Number(group), Number(session)]).toEqual([pid, pid]);
    const targets = runOutside(actor, ["sh", "-c", `readlink /proc/${pid}/cwd /proc/${pid}/fd/*`]).stdout.split("\n");
    expect(targets[0]).toBe("/");
    expect(targets.filter((target) => target.startsWith(folder))).toEqual([]);
    const launcher = awaitChild(pid, "ak-launcher");
    const inherited = runOutside(actor, ["sh", "-c", `readlink /proc/${launcher}/fd/*`]).stdout;
    expect(inherited).not.toContain(folder);
  });

  it("ten at once end up with one daemon, and each is served", async () => {
    const client = caller(actor);
    const runs = await Promise.all(Array.from({ length: 10 }, (_, index) => runIn(client, ["echo", String(index)])));
    expect(runs.map(({ status, stdout }) => `${status} ${stdout}`)).toEqual(runs.map((_, index) => `0 ${index}\n`));
    expect(await statusOf(client)).toMatchObject({ served: 10 });
  });

  it("a start that is killed at whatever step is made good by the next", async () => {
    const client = caller(actor);
    for (const delayMs of [50, 90, 130, 170, 210]) {
      const cli = new WatchedCli(client, ["run", "--no-network", "true"]);
      spinMs(delayMs);
      killNow(cli.pid);
      await cli.end;
      const status = await statusOf(client);
      if (status.up) killNow(status.pid);
    }
    expect((await runIn(client, ["echo", "at last"])).stdout).toBe("at last\n");
  });

  it("it ends when it has owned nothing for a while, and not before", async () => {
    const client = { ...caller(actor) };
    const variables = { ...client.variables, AGENTKERNEL_DAEMON_LINGER: "300ms" };
    const brief = { ...client, variables };
    const folder = stateFolder(actor);
    expect((await runCli(brief, ["own", folder])).stdout).toMatch(/^started by \d+\n$/);
    const { pid, held_by: heldBy } = await statusOf(client);
    expect(heldBy).toEqual([expect.stringMatching(/^sandbox kept-/)]);
    const text = (await runCli(client, ["daemon", "status"])).stdout;
    expect(text).toMatch(/Stays: until it has owned nothing for 300ms \(started on demand\); held by sandbox kept-/);
    const busy = new WatchedCli(brief, ["run", "--no-network", "sh", "-c", "echo up; read line; echo $line"]);
    await busy.until(/up/);
    const supervisor = Number(readFileSync(join(folder, "lock"), "utf8"));
    killNow(supervisor);
    busy.type("still here\n");
    expect((await busy.end).stdout).toBe("up\nstill here\n");
    await gone(pid);
    expect(await statusOf(client)).toEqual({ up: false });
    await removeState(client, folder);
  });

  it("daemon start makes it stay", async () => {
    const client = caller(actor);
    await runIn(client, ["true"]);
    const before = await statusOf(client);
    expect((await runCli(client, ["daemon", "start"])).stdout).toMatch(
      /^a daemon was up already, and stays from now on/,
    );
    expect(await statusOf(client)).toMatchObject({ pid: before.pid, on_demand: false, idle_timeout_ms: null });
  });

  it("an idle daemon of another build is replaced, and that is said", async () => {
    const old = caller(actor, "one");
    await runIn(old, ["true"]);
    const before = await statusOf(old);
    for (const mark of ["two", "one"]) {
      const next = caller(actor, mark, old);
      const result = await runIn(next, ["echo", mark]);
      expect(result.stdout).toBe(`${mark}\n`);
      expect(result.stderr).toMatch(/^agentkernel: the daemon of another build \(version \S+\) was replaced\n/);
    }
    await gone(before.pid);
    expect(await statusOf(old)).toMatchObject({ on_demand: true, served: 1 });
  });

  it("one that owns things lets go of sandboxes and finishes commands; the next takes them over", async () => {
    const old = caller(actor, "one");
    const next = caller(actor, "two", old);
    const folder = stateFolder(actor);
    await runCli(old, ["own", folder]);
    await runCli(old, ["daemon", "start"]);
    const supervisor = readFileSync(join(folder, "lock"), "utf8");
    const running = new WatchedCli(old, ["run", "--no-network", "sh", "-c", "echo up; read line; echo $line"]);
    await running.until(/up/);
    const before = await statusOf(old);

    const adopted = await runCli(next, ["own", folder]);
    expect(adopted.stderr).toMatch(/was replaced; 1 sandbox goes on, it finishes 1 command line\n$/);
    const after = await statusOf(next);
    expect(adopted.stdout).toBe(`adopted by ${after.pid}\n`);
    expect(after).toMatchObject({ on_demand: false });
    expect(readFileSync(join(folder, "lock"), "utf8")).toBe(supervisor);
    // What the old one still runs can also start no earlier than this.
    running.type("to its end\n");
    expect(await running.end).toMatchObject({ status: 0, stdout: "up\nto its end\n" });
    await gone(before.pid);
    expect((await runIn(next, ["echo", "served"])).stdout).toBe("served\n");
    await removeState(next, folder);
  });

  it("daemon reload replaces it by another, and drops nothing", async () => {
    const client = caller(actor);
    expect(await runCli(client, ["daemon", "reload"])).toMatchObject({ status: 125 });
    const folder = stateFolder(actor);
    await runCli(client, ["own", folder]);
    const before = await statusOf(client);
    const running = new WatchedCli(client, ["run", "--no-network", "sh", "-c", "echo up; read line; echo $line"]);
    await running.until(/up/);
    const reloaded = await runCli(client, ["daemon", "reload"]);
    expect(reloaded.stdout).toMatch(/^the daemon is up: process \d+/);
    const after = await statusOf(client);
    expect(after.pid).not.toBe(before.pid);
    expect(after).toMatchObject({ on_demand: true, held_by: [] });
    expect((await runCli(client, ["own", folder])).stdout).toBe(`adopted by ${after.pid}\n`);
    running.type("on\n");
    expect((await running.end).stdout).toBe("up\non\n");
    await gone(before.pid);
    await removeState(client, folder);
  });

  it("daemon stop leaves sandboxes that stay alone, with --all it ends them", async () => {
    const client = caller(actor);
    const folder = stateFolder(actor);
    await runCli(client, ["own", folder]);
    expect((await runCli(client, ["daemon", "stop"])).stdout).toBe("the daemon has ended\n");
    expect((await runCli(client, ["own", folder])).stdout).toMatch(/^adopted by/);
    expect((await runCli(client, ["daemon", "stop", "--all"])).stdout).toBe(
      "the daemon has ended, and 1 sandbox with it\n",
    );
    expect((await runCli(client, ["own", folder])).stdout).toMatch(/^started by/);
    await removeState(client, folder);
  });

  it("a daemon that a service runs takes the place of one on demand, and is not replaced behind its back", async () => {
    const client = caller(actor);
    await runIn(client, ["true"]);
    const before = await statusOf(client);
    const run = new TestDaemon(client, [], { AGENTKERNEL_SERVICE: "agentkernel.service" });
    await run.ready;
    await gone(before.pid);
    expect(await statusOf(client)).toMatchObject({ pid: run.pid, on_demand: false, service: "agentkernel.service" });
    expect((await runIn(client, ["echo", "served"])).stdout).toBe("served\n");
    const other = await runIn(caller(actor, "two", client), ["true"]);
    expect(other.status).toBe(125);
    expect(other.stderr).toMatch(/a daemon of another build is up \(process \d+\), run by agentkernel\.service\n/);
    expect(other.stderr).toContain("hint: restart it: systemctl --user restart agentkernel.service");
    expect(await run.stop()).toBe(0);
  });

  it("from other namespaces it is not served, and told so", async () => {
    const client = caller(actor);
    await runIn(client, ["true"]);
    const words = actor.uid === 0 ? ["--net"] : ["--user", "--map-current-user", "--net"];
    const elsewhere = { ...client, program: ["/usr/bin/unshare", ...words, ...programOf(client)] };
    const result = await runIn(elsewhere, ["true"]);
    expect(result.status).toBe(125);
    expect(result.stderr).toContain(
      "run needs the daemon, which does not serve this: the client lives in other namespaces, or under another root",
    );
  });

  it("SIGHUP reads the configuration again and begins a log anew that was moved away", async () => {
    const config = actor.folder("config");
    const before = caller(actor);
    const client = { ...before, variables: { ...before.variables, XDG_CONFIG_HOME: config } };
    const write = (text: string) => {
      mkdirSync(join(config, "agentkernel"), { recursive: true });
      writeFileSync(join(config, "agentkernel", "config.toml"), text);
    };
    write("[daemon]\nlinger = '7m'\n");
    await runIn(client, ["true"]);
    const { pid, idle_timeout_ms: idleMs } = await statusOf(client);
    expect(idleMs).toBe(7 * 60_000);
    const log = join(actor.home, ".local", "state", "agentkernel", "daemon.log");
    const said = (words: string) => existsSync(log) && readFileSync(log, "utf8").includes(words);
    rmSync(log);
    write("[daemon]\nlinger = '8m'\n");
    killNow(pid, "SIGHUP");
    await until(() => said("by SIGHUP: the configuration was read again; it stays for 8m without work"));
    write("[daemon]\nlinger = 'long'\n");
    killNow(pid, "SIGHUP");
    await until(() => said("by SIGHUP: the configuration stays as it was"));
    expect(await statusOf(client)).toMatchObject({ pid, idle_timeout_ms: 8 * 60_000 });
  });

  it("without a runtime folder, and with a long path to the state folder, it is the same", async () => {
    const client = caller(actor);
    const { XDG_RUNTIME_DIR: _, ...variables } = client.variables ?? {};
    const state = join(actor.ownFolder("state"), "long".repeat(40));
    const other = { ...client, variables: { ...variables, XDG_STATE_HOME: state } };
    expect((await runIn(other, ["echo", "far"])).stdout).toBe("far\n");
    expect(readdirSync(join(state, "agentkernel", "daemon"))).toContain("daemon.sock");
    await runCli(other, ["daemon", "stop"]);
  });

  it("what stands in the way is named", async () => {
    const client = caller(actor);
    const off = await runIn(client, ["true"], { env: { AGENTKERNEL_DAEMON: "off" } });
    expect(off).toMatchObject({ status: 125, stdout: "" });
    expect(off.stderr).toContain("run needs the daemon, and AGENTKERNEL_DAEMON=off forbids it");

    const file = join(actor.folder("blocked"), "file");
    writeFileSync(file, "");
    const env = { XDG_RUNTIME_DIR: "", XDG_STATE_HOME: join(file, "state") };
    const unwritable = await runIn(client, ["true"], { env });
    expect(unwritable.status).toBe(125);
    expect(unwritable.stderr).toMatch(/the daemon did not start: \S+, the daemon's folder, cannot be made \(ENOTDIR\)/);

    const linger = await runIn(client, ["true"], { env: { AGENTKERNEL_DAEMON_LINGER: "soon" } });
    expect(linger.stderr).toContain('AGENTKERNEL_DAEMON_LINGER: "soon" is not a number with the unit');
  });
});
