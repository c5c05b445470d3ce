/** Sandboxes that stay, through the real daemon: their life, their commands, and what they keep. */
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { actors } from "../support/actors.js";
import { clientOf } from "../support/daemon.js";
import { leavesNothingBehind } from "../support/nothing-left.js";
import { makeProject } from "../support/project.js";
import { runCli } from "../support/run-cli.js";
import { inWorld, SandboxWorld } from "../support/sandbox-world.js";

describe.each(actors)("as $name", (actor) => {
  leavesNothingBehind();

  it("one is made, started, used, stopped and removed, and is always in a state that list tells", async () => {
    await inWorld(actor, async (world) => {
      expect(await world.ok(["create", "--no-network", "box"])).toBe("box\n");
      expect(await world.states()).toEqual({ box: "created" });
      expect(await world.ok(["start", "box"])).toBe("box\n");
      expect(await world.ok(["start", "box"])).toBe("box\n");
      expect(await world.states()).toEqual({ box: "running" });
      expect(await world.ok(["exec", "box", "hostname"])).toBe("box\n");
      expect(await world.ok(["stop", "box"])).toBe("box\n");
      expect(await world.states()).toEqual({ box: "stopped" });
      expect(await world.ok(["remove", "box"])).toBe("box\n");
      expect(await world.ok(["list"])).toBe("no sandboxes; agentkernel create NAME makes one\n");
      expect(existsSync(world.folder("box"))).toBe(false);
    });
  });

  it("a command starts one that does not run, and says so", async () => {
    await inWorld(actor, async (world) => {
      await world.ok(["create", "--no-network", "box"]);
      const first = await world.ak(["exec", "box", "true"]);
      expect(first).toMatchObject({
        status: 0,
        stderr: "agentkernel: box was not running (created); it has been started\n",
      });
      expect((await world.ak(["exec", "box", "true"])).stderr).toBe("");
      await world.ok(["stop", "box"]);
      expect((await world.ak(["exec", "box", "true"])).stderr).toMatch(/^agentkernel: box was not running \(stopped\)/);
    });
  });

  it("what it wrote to its root and to its copy of the project stays over stop and start; the project is as it was", async () => {
    const project = makeProject(actor, { "a.txt": "a\n" });
    const before = project.content();
    await inWorld(actor, async (world) => {
      await world.ok(["create", "--no-network", "--dir", project.path, "box"]);
      await world.ok(["exec", "box", "sh", "-c", "echo new > b.txt; echo changed > a.txt; echo kept > /opt/x"]);
      await world.ok(["stop", "box"]);
      const script = "cat a.txt b.txt /opt/x; pwd";
      expect((await world.ak(["exec", "box", "sh", "-c", script])).stdout).toBe("changed\nnew\nkept\n/workspace\n");
      expect(project.content()).toEqual(before);
    });
  });

  it("a shell that completes is told their names, and starts no daemon for that", async () => {
    await inWorld(actor, async (world) => {
      expect(await world.ok(["names"])).toBe("");
      await world.ok(["create", "--no-network", "box"]);
      expect(await world.ok(["names"])).toBe("box\n");
    });
    const alone = clientOf(actor);
    expect(await runCli(alone, ["names"])).toMatchObject({ status: 0, stdout: "", stderr: "" });
    expect((await runCli(alone, ["daemon", "status"])).stdout).toBe("Daemon: not running\n");
  });

  it("options after the name are not taken for a command", async () => {
    await inWorld(actor, async (world) => {
      await world.ok(["create", "--no-network", "box"]);
      await world.refuses(["exec", "box", "-d", "true"], /"-d" is no command/, /before the name/);
      expect(await world.states()).toEqual({ box: "created" });
    });
  });

  it("one that has never run has changed nothing", async () => {
    const project = makeProject(actor, { "a.txt": "a\n" });
    await inWorld(actor, async (world) => {
      await world.ok(["create", "--no-network", "--dir", project.path, "box"]);
      for (const form of [[], ["--patch"], ["--stat"], ["--name-only"]]) {
        expect(await world.ok(["diff", "box", ...form])).toBe("");
      }
      const { data } = JSON.parse(await world.ok(["diff", "--json", "box"]));
      expect(data).toMatchObject({ name: "box", project: project.path, synced: false, changes: [] });
    });
  });

  it("a project that is not there, or is a file, makes no sandbox", async () => {
    const project = makeProject(actor, { "main.py": "" });
    await inWorld(actor, async (world) => {
      await world.refuses(["create", "--dir", "/no/such", "b"], /--dir: \/no\/such does not exist/, /be there already/);
      const file = join(project.path, "main.py");
      await world.refuses(["create", "--dir", file, "b"], /main\.py is not a folder/, /folder of the project/);
      expect(await world.states()).toEqual({});
    });
  });

  it("exit statuses are those of run", async () => {
    await inWorld(actor, async (world) => {
      await world.started("box");
      const status = async (words: readonly string[]) => (await world.ak(["exec", ...words])).status;
      expect(await status(["box", "sh", "-c", "exit 7"])).toBe(7);
      expect(await status(["box", "sh", "-c", "kill -9 $$"])).toBe(137);
      expect(await status(["box", "nosuch"])).toBe(127);
      expect(await status(["box", "/etc/passwd"])).toBe(126);
      expect(await status(["--timeout", "100ms", "box", "sleep", "4401"])).toBe(124);
      expect(await status(["nobox", "true"])).toBe(125);
    });
  });

  it("streams, variables, folder and words reach a command as they are", async () => {
    await inWorld(actor, async (world) => {
      await world.started("box", ["--env", "A=policy", "--env", "B=policy"]);
      const script = "cat; echo err >&2; echo $A $B $PWD $1";
      const words = ["exec", "--env", "B=exec", "--workdir", "/tmp", "box", "--", "sh", "-c", script, "sh", "--json"];
      expect(await world.ak(words, { stdin: "in\0\n" })).toMatchObject({
        status: 0,
        stdout: "in\0\npolicy exec /tmp --json\n",
        stderr: "err\n",
      });
      const { data } = JSON.parse((await world.ak(["exec", "--json", "box", "sh", "-c", "echo o; exit 3"])).stdout);
      expect(data).toMatchObject({ stdout: "o\n", exit_code: 3, timed_out: false, sandbox: "box" });
    });
  });

  it("several commands run at once, and one of them sees what another does", async () => {
    await inWorld(actor, async (world) => {
      await world.started("box");
      const waiting = Array.from({ length: 8 }, (_, at) =>
        world.ok(["exec", "box", "sh", "-c", `until [ -e /tmp/go ]; do sleep 0.01; done; echo ${at}`]),
      );
      await expect.poll(async () => (await world.list())[0]?.running_execs).toBe(8);
      await world.ok(["exec", "box", "touch", "/tmp/go"]);
      expect(await Promise.all(waiting)).toEqual(waiting.map((_, at) => `${at}\n`));
    });
  });

  it("an interrupt ends the command and not the sandbox", async () => {
    await inWorld(actor, async (world) => {
      await world.started("box");
      const cli = world.watch([
        "exec",
        "box",
        "sh",
        "-c",
        "trap 'echo caught; exit 5' INT; echo up; while :; do sleep 0.05; done",
      ]);
      await cli.until(/up/);
      process.kill(cli.pid, "SIGINT");
      expect(await cli.end).toMatchObject({ status: 5, stdout: "up\ncaught\n" });
      expect(await world.states()).toEqual({ box: "running" });
    });
  });

  it("names are checked, and one is given once", async () => {
    await inWorld(actor, async (world) => {
      for (const name of ["-rf", "../up", "a/b", "UP", "a..b", "", ".a", "a".repeat(64), "a\u001b[31m"]) {
        const { status, stderr, stdout } = await world.ak(["create", "--no-network", "--", name]);
        expect({ status, stdout }, name).toEqual({ status: 125, stdout: "" });
        expect(stderr, name).not.toContain("\u001b");
      }
      await world.ok(["create", "--no-network", "box"]);
      await world.refuses(["create", "box"], /there is a sandbox box already/, /remove box/);
      const both = await Promise.all([1, 2, 3].map(() => world.ak(["create", "--no-network", "one"])));
      expect(both.map(({ status }) => status).sort()).toEqual([0, 125, 125]);
      expect(await world.states()).toEqual({ box: "created", one: "created" });
    });
  });

  it("one that runs is removed only by force", async () => {
    await inWorld(actor, async (world) => {
      await world.started("box");
      await world.refuses(["remove", "box"], /is running/, /remove --force/);
      await world.ok(["remove", "--force", "box"]);
      await world.refuses(["exec", "box", "true"], /there is no sandbox box/, /list/);
    });
  });

  it("a paused one stands still, refuses commands, and goes on where it was", async () => {
    await inWorld(actor, async (world) => {
      await world.started("box");
      if ((await world.info("box")).layers.some(({ name, state }) => name === "freezer" && state === "absent")) return;
      await world.ok([
        "exec",
        "-d",
        "box",
        "sh",
        "-c",
        "i=0; while :; do i=$((i+1)); echo $i > /tmp/n; sleep 0.01; done",
      ]);
      await world.ok(["pause", "box"]);
      expect(await world.states()).toEqual({ box: "paused" });
      await world.refuses(["exec", "box", "true"], /is paused/, /resume box/);
      await world.restart();
      expect(await world.states()).toEqual({ box: "paused" });
      await world.ok(["resume", "box"]);
      const count = async () => Number(await world.ok(["exec", "box", "cat", "/tmp/n"]));
      const before = await count();
      await expect.poll(count).toBeGreaterThan(before);
    });
  });

  it("run --keep leaves a sandbox and says how to look in and to remove it", async () => {
    await inWorld(actor, async (world) => {
      const ran = await world.ak([
        "run",
        "--no-network",
        "--keep",
        "--ttl",
        "1h",
        "sh",
        "-c",
        "echo out; echo k > /opt/k; exit 4",
      ]);
      expect(ran).toMatchObject({ status: 4, stdout: "out\n" });
      const name = /agentkernel exec --tty (run-[0-9a-f]{12}) sh, remove it with agentkernel remove --force run-/.exec(
        ran.stderr,
      )?.[1];
      expect(await world.states()).toEqual({ [name ?? ""]: "running" });
      expect(await world.ok(["exec", name ?? "", "cat", "/opt/k"])).toBe("k\n");
      const told = JSON.parse(await world.ok(["run", "--no-network", "--keep", "--json", "echo", "out"])).data;
      expect(told).toMatchObject({
        ...{ stdout: "out\n", exit_code: 0, backend: "linux", profile: "moderate", changes: null, notes: [] },
        ...{ image: { name: "host" }, network: { mode: "off" }, usage: { oom_kills: 0 } },
      });
      expect(told.layers.length).toBeGreaterThan(3);
      await world.refuses(["run", "--ttl", "1h", "true"], /--ttl is for sandboxes that stay/, /--keep/);
    });
  });

  it("a time to live removes, an idle timeout stops, and a command that runs is not idle", async () => {
    await inWorld(actor, async (world) => {
      await world.started("lazy", ["--idle-timeout", "300ms"]);
      await world.started("short", ["--ttl", "1500ms"]);
      const busy = world.watch(["exec", "lazy", "sh", "-c", "echo up; read go; echo $go"]);
      await busy.until(/up/);
      await expect.poll(() => world.states()).toEqual({ lazy: "running" });
      busy.type("done\n");
      expect(await busy.end).toMatchObject({ status: 0, stdout: "up\ndone\n" });
      await expect.poll(() => world.states()).toEqual({ lazy: "stopped" });
    });
  });

  it("stats tell what each uses", async () => {
    await inWorld(actor, async (world) => {
      await world.started("box");
      await world.ok(["exec", "box", "sh", "-c", "head -c 3000000 /dev/zero > /opt/big"]);
      const { data } = JSON.parse(await world.ok(["stats", "--json"])) as { data: Record<string, number>[] };
      expect(data).toMatchObject([{ name: "box", state: "running" }]);
      if (data[0]?.disk_bytes !== null) expect(data[0]?.disk_bytes).toBeGreaterThan(3_000_000);
      expect(await world.ok(["stats"])).toMatch(/^NAME +STATE +CPU .*\nbox +running /);
    });
  });

  it("records of a newer version or damaged ones are told of, and no other is concerned", async () => {
    await inWorld(actor, async (world) => {
      await world.ok(["create", "--no-network", "fine"]);
      await world.ok(["create", "--no-network", "newer"]);
      await world.ok(["create", "--no-network", "broken"]);
      const path = (name: string) => join(world.folder(name), "sandbox.json");
      await world.crash();
      writeFileSync(path("newer"), readFileSync(path("newer"), "utf8").replace(/"version":\d+/, '"version":99'));
      writeFileSync(path("broken"), "{");
      await world.up();
      const listed = await world.ak(["list"]);
      expect(listed.stdout).toMatch(/\nfine +created/);
      expect(listed.stderr).toMatch(/newer was written by a newer version/);
      await world.refuses(["start", "newer"], /newer version/, /remove --force/);
      await world.refuses(["start", "broken"], /it is not JSON/, /remove --force/);
      expect(await world.ok(["exec", "fine", "echo", "works"])).toBe("works\n");
      await world.ok(["remove", "--force", "newer", "broken"]);
      expect(await world.states()).toEqual({ fine: "running" });
    });
  });

  it("its folders and files are its owner's alone", async () => {
    await inWorld(actor, async (world) => {
      await world.ok(["create", "--no-network", "--env", "TOKEN=hush", "box"]);
      const modes = ["", "sandbox.json", "jail", "execs"].map(
        (name) => statSync(join(world.folder("box"), name)).mode & 0o077,
      );
      expect(modes).toEqual([0, 0, 0, 0]);
    });
  });

  it("of two daemons that share a state folder one owns its sandboxes, and the other says so", async () => {
    await inWorld(actor, async (first) => {
      await first.started("box");
      const second = new SandboxWorld(actor, { stateHome: first.state });
      await second.up();
      try {
        for (const words of [["exec", "box", "true"], ["list"], ["create", "other"], ["remove", "--force", "box"]]) {
          await second.refuses(words, /another daemon of yours owns/, /XDG_RUNTIME_DIR/);
        }
      } finally {
        await second.daemon.stop();
      }
      expect(await first.ok(["exec", "box", "echo", "mine"])).toBe("mine\n");
    });
  });

  it("everything that happens to one is on record under its id", async () => {
    await inWorld(actor, async (world) => {
      await world.started("box");
      await world.ok(["exec", "box", "true", "--token=hush-hush"]);
      await world.ok(["stop", "box"]);
      await world.ok(["remove", "box"]);
      const log = await world.ok(["audit", "list", "--sandbox", "box", "--json"]);
      const types = (JSON.parse(log) as { data: { type: string }[] }).data.map(({ type }) => type);
      expect(types).toEqual([
        "sandbox.create",
        "sandbox.start",
        "sandbox.ready",
        "exec.start",
        "exec.end",
        "sandbox.end",
        "sandbox.remove",
      ]);
      expect(log).not.toContain("hush-hush");
    });
  });
});
