/** Sandboxes that were built before anybody asked for them: as fresh and as closed as any other. */

import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { PoolStatus, ShapeStatus } from "../../src/runtime/pool/index.js";
import { type Actor, actors, root } from "../support/actors.js";
import { clientOf, onlyThroughDaemon, TestDaemon } from "../support/daemon.js";
import { leaksSince, traces } from "../support/leaks.js";
import { makeProject } from "../support/project.js";
import { type CliResult, runCli, runIn } from "../support/run-cli.js";
import { privateKeyHolding } from "../support/secret-files.js";

describe.each(actors)("as $name", (actor) => {
  let client: Actor = actor;
  let daemon: TestDaemon | undefined;
  beforeEach(async () => {
    const config = actor.folder("config");
    client = clientOf(actor);
    client = { ...client, variables: { ...client.variables, XDG_CONFIG_HOME: config } };
    daemon = new TestDaemon(client);
    await daemon.ready;
  });
  afterEach(async () => {
    await daemon?.stop();
  });

  const through = () => onlyThroughDaemon(client);

  async function pool(): Promise<PoolStatus> {
    const { stdout } = await runCli(client, ["daemon", "status", "--json"]);
    return (JSON.parse(stdout) as { data: { pool: PoolStatus } }).data.pool;
  }

  /** What it tells once it is as it is wanted. */
  async function poolWith(isSo: (pool: PoolStatus) => boolean): Promise<PoolStatus> {
    for (let seen = await pool(), until = Date.now() + 20_000; ; seen = await pool()) {
      if (isSo(seen)) return seen;
      if (Date.now() > until) throw new Error(`the pool stays as it is: ${JSON.stringify(seen)}`);
    }
  }

  const filled = () => poolWith(({ warm }) => warm === 3);

  /** After another run of the same kind has filled the pool. */
  async function runWarm(words: readonly string[], cwd: string, options: readonly string[] = []): Promise<CliResult> {
    const run = (command: readonly string[]) => runIn(through(), [...options, ...command], { cwd });
    expect(await run(["true"])).toMatchObject({ status: 0 });
    const before = await filled();
    const result = await run(words);
    expect((await pool()).taken).toBe(before.taken + 1);
    return result;
  }

  it.skipIf(root === undefined)("those that wait keep no file system busy that was looked at for nobody", async () => {
    const { path } = makeProject(actor, {});
    execFileSync("mount", ["-t", "tmpfs", "-o", "mode=777", "none", path]);
    try {
      for (let at = 0; at < 6; at++) {
        expect(await runIn(through(), ["true"], { cwd: path })).toMatchObject({ status: 0 });
        // Who calls right after another is expected to come from the same directory.
        await Promise.all([1, 2, 3].map(() => runCli(through(), ["list"])));
        await filled();
      }
    } finally {
      await unmounted(path);
    }
  });

  it("stop --all ends those that wait too, and counts only what was used", async () => {
    const { path } = makeProject(actor, {});
    expect(await runIn(through(), ["true"], { cwd: path })).toMatchObject({ status: 0 });
    await filled();
    const { stdout } = await runCli(client, ["stop", "--all", "--json"]);
    expect(JSON.parse(stdout)).toEqual({ success: true, data: { ended: 0 } });
    expect(await runIn(through(), ["echo", "again"], { cwd: path })).toMatchObject({ status: 0, stdout: "again\n" });
    expect((await pool()).taken).toBe(0);
  });

  it("those that wait let others go first, and commands in them are scheduled as any other", async () => {
    const { path } = makeProject(actor, {});
    const { stdout } = await runWarm(["cat", "/proc/self/stat"], path);
    expect(schedulingIn(stdout)).toBe("0");
    await filled();
    const waiting = warmSupervisors(daemon?.pid);
    expect(waiting).toHaveLength(3);
    const policies = waiting.map((pid) => schedulingIn(readFileSync(`/proc/${pid}/stat`, "utf8")));
    expect(new Set(policies)).toEqual(new Set(["3"]));
  });

  it("a file that becomes a secret between two runs in one folder is hidden from the second", async () => {
    const { path } = makeProject(actor, { "src/plain.txt": "plain" });
    const run = () => runIn(through(), ["sh", "-c", "ls -A . src"], { cwd: path });
    // Folders that have been as they are for two seconds are read again only where they have changed.
    while (Date.now() - statSync(join(path, "src")).ctimeMs <= 2000) await pause(100);
    await run();
    for (const name of [".env", "src/.env.local", "src/id_rsa"]) {
      await filled();
      expect((await run()).stdout).toContain("plain.txt");
      await filled();
      writeFileSync(join(path, name), privateKeyHolding("SECRET=1"));
      const { stdout, status } = await run();
      expect(status).toBe(0);
      expect(stdout).toContain("plain.txt");
      expect(stdout).not.toContain(name.split("/").at(-1));
    }
  });

  it("the second run of a kind gets one, and no sandbox serves twice", async () => {
    const { path } = makeProject(actor, {});
    const names = new Set<string>();
    expect(await runIn(through(), ["true"], { cwd: path })).toMatchObject({ status: 0 });
    for (const run of [1, 2, 3, 4, 5, 6]) {
      await filled();
      const script = "hostname; ls /tmp/left 2>/dev/null; touch /tmp/left /workspace/left; cat /etc/hostname";
      const { stdout, status } = await runIn(through(), ["sh", "-c", script], { cwd: path });
      const [name = "", ...rest] = stdout.trim().split("\n");
      expect([status, rest]).toEqual([0, [name]]);
      names.add(name);
      expect(names.size).toBe(run);
    }
    expect(await pool()).toMatchObject({ taken: 6, missed: 1 });
  });

  it("its id is that of the records about it", async () => {
    const { path } = makeProject(actor, {});
    const { stdout } = await runWarm(["hostname"], path, ["--json"]);
    const { sandbox, stdout: hostname } = (JSON.parse(stdout) as { data: { sandbox: string; stdout: string } }).data;
    expect(hostname.trim()).toBe(sandbox);
    const { stdout: log } = await runCli(client, ["audit", "list", "--sandbox", sandbox, "--json"]);
    expect(log).toContain('"sandbox.ready"');
    expect(log).toContain('"exec.end"');
  });

  it("files that were made after it are hidden or shown as in any other", async () => {
    const { path } = makeProject(actor, { "old.txt": "old\n", "gone.txt": "gone\n" });
    expect(await runIn(through(), ["true"], { cwd: path })).toMatchObject({ status: 0 });
    await filled();
    writeFileSync(join(path, ".env"), "TOKEN=secret\n");
    mkdirSync(join(path, ".ssh"));
    writeFileSync(join(path, ".ssh", "id_rsa"), "secret\n");
    writeFileSync(join(path, "new.txt"), "new\n");
    writeFileSync(join(path, "old.txt"), "changed\n");
    rmSync(join(path, "gone.txt"));
    const script = "ls -A; cat old.txt new.txt; cat .env .ssh/id_rsa 2>/dev/null; echo changed >old.txt";
    const { stdout } = await runIn(through(), ["sh", "-c", script], { cwd: path });
    expect(stdout).toBe("new.txt\nold.txt\nchanged\nnew\n");
    expect(readFileSync(join(path, "old.txt"), "utf8")).toBe("changed\n");
    expect((await pool()).taken).toBe(1);
  });

  it("another project gets one too, and sees nothing of the first", async () => {
    const [first, second] = [makeProject(actor, { "one.txt": "1" }), makeProject(actor, { "two.txt": "2" })];
    expect(await runIn(through(), ["true"], { cwd: first.path })).toMatchObject({ status: 0 });
    await filled();
    const seen = await runIn(through(), ["sh", "-c", "ls; cat /proc/self/mountinfo"], { cwd: second.path });
    expect(seen.stdout).toMatch(/^two\.txt\n/);
    expect(seen.stdout).not.toContain(first.path);
    expect((await pool()).taken).toBe(1);
  });

  it("limits and variables are the caller's, not those it was built with", async () => {
    const { path } = makeProject(actor, {});
    expect(await runIn(through(), ["true"], { cwd: path })).toMatchObject({ status: 0 });
    await filled();
    const words = ["--memory", "64m", "-e", "TOLD=yes", "sh", "-c", 'ulimit -n; echo "$TOLD"; df -m /tmp | tail -1'];
    const { stdout } = await runIn(through(), words, { cwd: path });
    expect(stdout).toMatch(/^4096\nyes\n\S+ +16 /);
    const { status, stderr } = await runIn(through(), ["--memory", "64m", "head", "-c", "200m", "/dev/zero", "|"], {
      cwd: path,
    });
    expect([status === 0, stderr]).not.toEqual([true, ""]);
    expect((await pool()).taken).toBe(2);
  });

  it("what may be written goes to the project where the mode says so", async () => {
    const { path } = makeProject(actor, { "a.txt": "a\n" });
    const script =
      "echo synced >b.txt; echo x >.git-hooks; mkdir .claude 2>/dev/null; echo y >.claude/z 2>/dev/null; :";
    const { status } = await runWarm(["sh", "-c", script], path, ["--workspace", "sync"]);
    expect(status).toBe(0);
    expect(readFileSync(join(path, "b.txt"), "utf8")).toBe("synced\n");
    expect(() => readFileSync(join(path, ".claude", "z"))).toThrow();
  });

  it("a live project is guarded as in any other", async () => {
    const { path } = makeProject(actor, { ".env": "TOKEN=secret\n", "agentkernel.toml": "", "a.txt": "a\n" });
    const script = "cat .env; echo x >>agentkernel.toml; echo live >a.txt; echo done";
    const { stdout } = await runWarm(["sh", "-c", script], path, ["--workspace", "mount"]);
    expect(stdout).toBe("done\n");
    expect(readFileSync(join(path, "a.txt"), "utf8")).toBe("live\n");
    expect(readFileSync(join(path, "agentkernel.toml"), "utf8")).toBe("");
    expect(readFileSync(join(path, ".env"), "utf8")).toBe("TOKEN=secret\n");
  });

  it("where nothing may be root the walls are as strict", async () => {
    const { path } = makeProject(actor, { "a.txt": "a\n" });
    const script =
      "id -u; touch /usr/x /x /workspace/a.txt 2>&1 | wc -l; grep -c 'CapBnd:.*0000000000000000' /proc/self/status";
    const { stdout } = await runWarm(["sh", "-c", script], path, ["--profile", "restrictive"]);
    expect(stdout).toBe("1000\n3\n1\n");
  });

  it("with the project as the only folder to write to, that is where it can write", async () => {
    const { path } = makeProject(actor, {});
    const script = "echo in >/workspace/in.txt; touch /opt/x 2>/dev/null && echo open; cat in.txt";
    const options = ["--compatibility-mode", "codex"];
    expect(await runWarm(["sh", "-c", script], path, options)).toMatchObject({ status: 0, stdout: "in\n" });
    expect(readFileSync(join(path, "in.txt"), "utf8")).toBe("in\n");
  });

  it("two profiles never share", async () => {
    const { path } = makeProject(actor, {});
    expect(await runIn(through(), ["true"], { cwd: path })).toMatchObject({ status: 0 });
    await filled();
    await runIn(through(), ["--profile", "restrictive", "true"], { cwd: path });
    expect(await pool()).toMatchObject({ taken: 0, missed: 2 });
  });

  it("one that was killed is passed over", async () => {
    const { path } = makeProject(actor, {});
    expect(await runIn(through(), ["true"], { cwd: path })).toMatchObject({ status: 0 });
    await filled();
    for (const pid of warmSupervisors(daemon?.pid)) process.kill(pid, "SIGKILL");
    expect(await runIn(through(), ["echo", "alive"], { cwd: path })).toMatchObject({ status: 0, stdout: "alive\n" });
  });

  it("other settings drain it, and none at all turn it off", async () => {
    const { path } = makeProject(actor, {});
    const config = join(client.variables?.XDG_CONFIG_HOME ?? "", "agentkernel");
    mkdirSync(config);
    expect(await runIn(through(), ["true"], { cwd: path })).toMatchObject({ status: 0 });
    await filled();
    writeFileSync(join(config, "config.toml"), "[daemon]\nmin_warm = 1\nmax_warm = 2\n");
    expect(await runIn(through(), ["true"], { cwd: path })).toMatchObject({ status: 0 });
    await poolWith(({ warm, max }) => warm === 1 && max === 2);
    writeFileSync(join(config, "config.toml"), "[daemon]\nmin_warm = 0\nmax_warm = 0\n");
    expect(await runIn(through(), ["true"], { cwd: path })).toMatchObject({ status: 0 });
    expect(await pool()).toMatchObject({ warm: 0, max: 0 });
    expect(warmSupervisors(daemon?.pid)).toEqual([]);
  });

  it("is filled ahead for an agent, and tells of it", async () => {
    const { path } = makeProject(actor, {});
    const filledAhead = await runCli(through(), ["daemon", "prewarm", "--mode", "claude"], { cwd: path });
    expect(filledAhead).toMatchObject({ status: 0, stdout: expect.stringMatching(/^claude: 3 warm; host, /) });
    const { stdout } = await runCli(client, ["daemon", "status"]);
    expect(stdout).toMatch(/\nPool: Warm VMs: 3, In use: 0, Min\/Max: 3\/5\n {2}claude: 3 warm, 0 in use/);
    await runCli(through(), ["run", "--compatibility-mode", "claude", "true"], { cwd: path });
    expect((await pool()).shapes.find(({ agent }: ShapeStatus) => agent === "claude")).toMatchObject({
      taken: 1,
      missed: 0,
    });
  });

  it("without a daemon, filling ahead starts one", async () => {
    const [runtime, state] = [actor.folder("runtime"), actor.folder("state")];
    chmodSync(runtime, 0o700);
    const alone = { ...actor, variables: { XDG_RUNTIME_DIR: runtime, XDG_STATE_HOME: state } };
    try {
      expect(await runCli(alone, ["daemon", "prewarm"])).toMatchObject({ status: 0 });
      expect((await runCli(alone, ["daemon", "status"])).stdout).toMatch(/Warm VMs: [1-9]/);
    } finally {
      await runCli(alone, ["daemon", "stop"]);
    }
  });

  it.each(["SIGKILL", "SIGTERM"] as const)("a daemon that ends by %s takes all with it", async (signal) => {
    const before = traces();
    const { path } = makeProject(actor, {});
    expect(await runIn(through(), ["true"], { cwd: path })).toMatchObject({ status: 0 });
    await filled();
    expect(warmSupervisors(daemon?.pid)).toHaveLength(3);
    daemon?.child.kill(signal);
    await daemon?.exited;
    expect(await leaksSince(before)).toEqual([]);
  });
});

/** What still ends may have something of it open for a moment. */
async function unmounted(path: string): Promise<void> {
  for (const until = Date.now() + 5000; ; await pause(50)) {
    try {
      execFileSync("umount", [path], { stdio: "pipe" });
      return;
    } catch (error) {
      if (Date.now() < until) continue;
      execFileSync("umount", ["--lazy", path]);
      throw error;
    }
  }
}

/** Of this daemon: children of its launcher that nobody has taken. */
function warmSupervisors(daemonPid: number | undefined): readonly number[] {
  const launchers = childrenOf(daemonPid ?? 0);
  return launchers.flatMap(childrenOf).filter((pid) => readFileSync(`/proc/${pid}/comm`, "utf8") === "ak-warm\n");
}

function childrenOf(pid: number): readonly number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8");
  return text.split(" ").filter(Boolean).map(Number);
}

/** The policy's number: 0 as usual, 3 a batch's. */
function schedulingIn(stat: string): string | undefined {
  return stat.slice(stat.lastIndexOf(")")).split(" ")[39];
}
