/** The daemon's own verbs, and what a command line notices of it: nothing but speed. */
import { cpSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Actor, actors, programOf, root, user } from "../support/actors.js";
import { clientOf, onlyThroughDaemon, TestDaemon } from "../support/daemon.js";
import { awaitChild } from "../support/process-tree.js";
import { makeProject } from "../support/project.js";
import { runOutside } from "../support/run-as.js";
import { runCli, runIn } from "../support/run-cli.js";
import { shellCli } from "../support/shell-cli.js";
import { WatchedCli } from "../support/watched-cli.js";

function folderOf(client: Actor): string {
  return join(client.variables?.XDG_RUNTIME_DIR ?? "", "agentkernel");
}

function ask(socketPath: string, path: string): Promise<{ status: number | undefined; body: unknown }> {
  return new Promise((resolve, reject) => {
    const asked = request({ socketPath, path }, (response) => {
      let text = "";
      response.on("data", (chunk: Buffer) => {
        text += String(chunk);
      });
      response.once("end", () => resolve({ status: response.statusCode, body: JSON.parse(text) }));
    });
    asked.once("error", reject);
    asked.end();
  });
}

async function servedBy(client: Actor): Promise<number> {
  const { body } = await ask(join(folderOf(client), "daemon.sock"), "/daemon");
  return (body as { data: { served: number } }).data.served;
}

describe.each(actors)("as $name", (actor) => {
  it("a daemon is started, looked at and stopped", async () => {
    const client = clientOf(actor);
    const before = await runCli(client, ["daemon", "status"]);
    expect(before).toMatchObject({ status: 1, stdout: "Daemon: not running\n" });

    const started = await runCli(client, ["daemon", "start", "--json"]);
    const { pid } = (JSON.parse(started.stdout) as { data: { pid: number } }).data;
    const again = await runCli(client, ["daemon", "start"]);
    expect(again.stdout).toContain(`a daemon was up already: process ${pid}`);

    expect((await runIn(onlyThroughDaemon(client), ["echo", "served"])).stdout).toBe("served\n");
    const status = await runCli(client, ["daemon", "status"]);
    expect(status.status).toBe(0);
    expect(status.stdout).toMatch(new RegExp(`^Daemon: running, process ${pid}, version `));
    // A command line is at work until its sandbox is gone, a moment after the command has its status.
    const now = async () => (await runCli(client, ["daemon", "status"])).stdout;
    await expect.poll(now).toMatch(/\nCommand lines: 0 at work, 1 served\nPool: Warm VMs: /);

    expect(await runCli(client, ["daemon", "stop"])).toMatchObject({ status: 0, stdout: "the daemon has ended\n" });
    expect(await runCli(client, ["daemon", "stop"])).toMatchObject({ status: 0, stdout: "no daemon was up\n" });
    expect((await runIn(client, ["echo", "alone"])).stdout).toBe("alone\n");
  });

  it("many that start one at the same moment end up with one", async () => {
    const client = clientOf(actor);
    const starts = await Promise.all(Array.from({ length: 4 }, () => runCli(client, ["daemon", "start", "--json"])));
    const pids = starts.map(
      ({ stdout, stderr }) => (JSON.parse(stdout || stderr) as { data: { pid: number } }).data.pid,
    );
    expect(new Set(pids).size).toBe(1);
    expect((await runCli(client, ["daemon", "stop"])).status).toBe(0);
  });

  it("a daemon can be stopped and started at once, also while it still ends a command", async () => {
    const client = clientOf(actor);
    await runCli(client, ["daemon", "start"]);
    const deaf = new WatchedCli(client, ["run", "--no-network", "sh", "-c", "trap '' TERM; echo up; exec sleep 4401"]);
    await deaf.until(/up/);
    const stopping = runCli(client, ["daemon", "stop"]);
    const again = await runCli(client, ["daemon", "start"]);
    expect(again.stdout).toMatch(/^(the daemon is up|a daemon was up already): process \d+/);
    expect((await stopping).status).toBe(0);
    await deaf.end;
    await runCli(client, ["daemon", "start"]);
    expect((await runIn(onlyThroughDaemon(client), ["echo", "anew"])).stdout).toBe("anew\n");
    await runCli(client, ["daemon", "stop"]);
  });

  it("a daemon that has nothing to do for a while ends by itself, if it was told to", async () => {
    const daemon = new TestDaemon(clientOf(actor), ["--idle-timeout", "200ms"]);
    await daemon.ready;
    expect(await daemon.exited).toBe(0);
    expect(daemon.stderr).toContain("nothing was asked of it for a while");
  });

  it("there is one daemon a user", async () => {
    const client = clientOf(actor);
    const first = new TestDaemon(client);
    await first.ready;
    const second = new TestDaemon(client);
    expect(await second.exited).toBe(125);
    expect(second.stderr).toContain("a daemon of yours is running already");
    expect((await runIn(onlyThroughDaemon(client), ["echo", "first"])).stdout).toBe("first\n");
    expect(await first.stop()).toBe(0);
  });

  it("its folder may have a name of any length", async () => {
    const client = clientOf(actor);
    const env = { XDG_RUNTIME_DIR: join(client.variables?.XDG_RUNTIME_DIR ?? "", "x".repeat(120)) };
    const made = runOutside(actor, ["mkdir", env.XDG_RUNTIME_DIR]);
    expect(made.status).toBe(0);
    const daemon = new TestDaemon(client, [], env);
    await daemon.ready;
    expect((await runIn(onlyThroughDaemon(client), ["echo", "far"], { env })).stdout).toBe("far\n");
    const status = await runCli(actor, ["daemon", "status"], { env });
    expect(status.stdout).toContain("1 served");
    await daemon.stop();
  });

  it("a folder that others may enter is refused", async () => {
    const client = clientOf(actor);
    expect(runOutside(actor, ["mkdir", "-m", "755", folderOf(client)]).status).toBe(0);
    const daemon = new TestDaemon(client);
    expect(await daemon.exited).toBe(125);
    expect(daemon.stderr).toContain("is open to others");
  });

  describe("through a daemon", () => {
    const client = clientOf(actor);
    const served = onlyThroughDaemon(client);
    const daemon: { process?: TestDaemon } = {};
    beforeAll(async () => {
      daemon.process = new TestDaemon(client);
      await daemon.process.ready;
    });
    afterAll(async () => {
      await daemon.process?.stop();
    });

    it("what starts its sandboxes has a path to find programs in, and nothing else of an environment", async () => {
      expect((await runIn(served, ["true"])).status).toBe(0);
      const launcher = awaitChild(daemon.process?.pid ?? 0, "ak-launcher");
      expect(readFileSync(`/proc/${launcher}/environ`, "latin1")).toBe("PATH=/usr/sbin:/usr/bin:/sbin:/bin\0");
    });

    it("its socket and folder are its owner's alone", () => {
      const folder = statSync(folderOf(client));
      expect([folder.mode & 0o777, folder.uid]).toEqual([0o700, actor.uid]);
      expect(statSync(join(folderOf(client), "daemon.sock")).mode & 0o777).toBe(0o600);
    });

    it("answers HTTP about itself", async () => {
      const socket = join(folderOf(client), "daemon.sock");
      expect(await ask(socket, "/health")).toEqual({ status: 200, body: { success: true, data: { status: "ok" } } });
      expect(await ask(socket, "/version")).toMatchObject({ status: 200, body: { data: { version: "0.1.0" } } });
      expect(await ask(socket, "/nothing")).toMatchObject({ status: 404, body: { success: false } });
    });

    it("folder, words and environment are the caller's", async () => {
      const project = makeProject(actor, { "here.txt": "mine\n" });
      const words = ["-e", "TOLD", "sh", "-c", 'cat here.txt; echo "$TOLD"; printf "%s|" "$@"', "sh", "", "a b", "ü"];
      const result = await runIn(served, words, { cwd: project.path, env: { TOLD: "by the caller" } });
      expect(result.stdout).toBe("mine\nby the caller\n|a b|ü|");
    });

    it("a folder that is gone is the caller's mistake, as ever", async () => {
      const line = "mkdir gone && cd gone && rmdir ../gone && agentkernel run --no-network true";
      const result = await shellCli(served, line, { cwd: actor.folder() });
      expect(result.status).toBe(125);
      expect(result.stderr).toContain("the current folder does not exist any more");
    });

    it("input that nobody reads is left for the next one", async () => {
      const result = await shellCli(served, "printf 'one\\ntwo\\n' | (agentkernel version; cat)");
      expect(result.stdout).toMatch(/^agentkernel \S+\none\ntwo\n$/);
    });

    it("a signal that was ignored before stays ignored, as for a local process", async () => {
      // The command tells by a line on stderr that it is there, and ends when it is sent one.
      const line = [
        "mkfifo go ready; trap '' INT",
        "agentkernel run --no-network sh -c 'echo up >&2; read go; echo $go' < go 2> ready &",
        "exec 8> go 9< ready; while read -r said <&9; do case $said in up) break ;; esac; done",
        "kill -INT $!; echo on >&8; wait $!",
      ].join("\n");
      const result = await shellCli(served, line, { cwd: actor.folder() });
      expect(result).toMatchObject({ status: 0, stdout: "on\n" });
    });

    it("what needs a process of its own gets one", async () => {
      const before = await servedBy(client);
      expect((await runCli(client, ["daemon", "status"])).status).toBe(0);
      expect((await runCli(client, ["run", "--ask", "--network", "allowlist", "true"])).stderr).toContain(
        "--ask needs a terminal",
      );
      expect(await servedBy(client)).toBe(before);
    });

    it.each([{ AGENTKERNEL_DAEMON: "off" }, { AGENTKERNEL_DEBUG: "1" }])("%j does without it", async (env) => {
      const before = await servedBy(client);
      expect((await runIn(client, ["echo", "alone"], { env })).stdout).toBe("alone\n");
      expect(await servedBy(client)).toBe(before);
    });

    it("a client of another build does it alone", async () => {
      const copy = actor.folder("other-build");
      cpSync(actor.dist, copy, { recursive: true });
      writeFileSync(join(copy, "build-id"), "0123456789abcdef\n");
      const other = { ...client, program: [join(copy, "native", "ak-client")] };
      const before = await servedBy(client);
      expect((await runIn(other, ["echo", "alone"])).stdout).toBe("alone\n");
      expect(await servedBy(client)).toBe(before);
    });

    it("a checkout whose sources are newer than its build does not ask it", async () => {
      const copy = actor.folder("checkout");
      cpSync(actor.dist, join(copy, "dist"), { recursive: true, preserveTimestamps: true });
      mkdirSync(join(copy, "src"));
      writeFileSync(join(copy, "src", "changed.ts"), "");
      writeFileSync(join(copy, "dist", "sources.list"), "src/changed.ts\n");
      const other = { ...client, program: [join(copy, "dist", "native", "ak-client")] };
      const before = await servedBy(client);
      expect((await runIn(other, ["echo", "alone"])).stdout).toBe("alone\n");
      expect(await servedBy(client)).toBe(before);
    });

    it("a client in other namespaces does it alone: it would see other files and another network", async () => {
      const words = actor.uid === 0 ? ["--net"] : ["--user", "--map-current-user", "--net"];
      const elsewhere = { ...client, program: ["/usr/bin/unshare", ...words, ...programOf(client)] };
      const before = await servedBy(client);
      expect((await runCli(elsewhere, ["version"])).stdout).toMatch(/^agentkernel /);
      expect(await servedBy(client)).toBe(before);
    });
  });
});

describe.runIf(root !== undefined && user !== undefined)("two users", () => {
  it("neither uses the other's daemon", async () => {
    if (root === undefined || user === undefined) return;
    for (const [owner, other] of [
      [root, user],
      [user, root],
    ] as const) {
      const client = clientOf(owner);
      const daemon = new TestDaemon(client);
      await daemon.ready;
      const intruder = {
        ...other,
        program: programOf(client),
        variables: { XDG_RUNTIME_DIR: client.variables?.XDG_RUNTIME_DIR ?? "" },
      };
      expect((await runIn(intruder, ["id", "-u"])).status).toBe(0);
      expect(await servedBy(client)).toBe(0);
      await daemon.stop();
    }
  });

  it("an ordinary user cannot even connect to another's sockets", async () => {
    if (root === undefined || user === undefined) return;
    const client = clientOf(root);
    const daemon = new TestDaemon(client);
    await daemon.ready;
    const connect = (name: string) =>
      `require("node:net").connect(${JSON.stringify(join(folderOf(client), name))}).on("connect", () => { console.log("connected"); process.exit(); }).on("error", (e) => console.log(e.code))`;
    expect(runOutside(root, [process.execPath, "-e", connect("daemon.sock")]).stdout).toBe("connected\n");
    const sockets = readdirSync(folderOf(client), { withFileTypes: true }).filter((entry) => entry.isSocket());
    expect(sockets.map(({ name }) => name)).toEqual(["daemon.sock", expect.stringMatching(/^jails\.sock\./)]);
    for (const { name } of sockets) {
      expect(runOutside(user, [process.execPath, "-e", connect(name)]).stdout, name).toBe("EACCES\n");
    }
    await daemon.stop();
  });
});
