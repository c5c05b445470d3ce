/** Which backend a run gets, by name, by variable and by file, and what `doctor` says of them. */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { actors } from "../support/actors.js";
import { provenGvisor } from "../support/gvisor-backend.js";
import { makeProject } from "../support/project.js";
import { runCli, runIn } from "../support/run-cli.js";
import { inWorld } from "../support/sandbox-world.js";

for (const actor of actors) {
  const gvisor = await provenGvisor(actor);
  const bare = ["--workspace", "none", "--workdir", "/", "--no-network"];

  describe(`a backend that does not work, as ${actor.name}`, () => {
    it.each([
      ["docker", /backend docker/],
      ["kubernetes", /kubernetes is not in this version/],
    ])("%s is told with what to do", async (name, said) => {
      const env = { DOCKER_HOST: "unix:///nonexistent/engine.sock" };
      const { status, stderr } = await runIn(actor, ["--backend", name, ...bare, "true"], { env });
      expect(status).toBe(125);
      expect(stderr).toMatch(said);
      expect(stderr).toMatch(/hint: \S/);
    });

    it("gvisor without its program says how to get it", async () => {
      const env = { AGENTKERNEL_RUNSC: "/nonexistent/runsc" };
      const { status, stderr } = await runIn(actor, ["--backend", "gvisor", ...bare, "true"], { env });
      expect(status).toBe(125);
      expect(stderr).toMatch(/gvisor does not work here/);
      expect(stderr).toMatch(/hint: .*runsc/);
    });
  });

  describe.skipIf(gvisor === null)(`gvisor, as ${actor.name}`, () => {
    const backendOf = (stdout: string): string => JSON.parse(stdout).data.backend;

    it("is used where it is named: by an option, a variable, or the project's file", async () => {
      const words = ["--json", ...bare, "cat", "/proc/version"];
      const byOption = await runIn(actor, ["--backend", "gvisor", ...words]);
      expect(backendOf(byOption.stdout)).toBe("gvisor");
      expect(JSON.parse(byOption.stdout).data.layers).toContainEqual(
        expect.objectContaining({ name: "gvisor", state: "applied" }),
      );
      // A kernel that is not the host's.
      expect(JSON.parse(byOption.stdout).data.stdout).not.toBe(readFileSync("/proc/version", "utf8"));
      const byVariable = await runIn(actor, words, { env: { AGENTKERNEL_BACKEND: "gvisor" } });
      expect(backendOf(byVariable.stdout)).toBe("gvisor");
      const project = actor.folder();
      writeFileSync(join(project, "agentkernel.toml"), '[sandbox]\nbackend = "gvisor"\n');
      expect(backendOf((await runIn(actor, ["--json", "--no-network", "true"], { cwd: project })).stdout)).toBe(
        "linux",
      );
      expect((await runCli(actor, ["trust", project])).status).toBe(0);
      const byFile = await runIn(actor, ["--json", "--no-network", "true"], { cwd: project });
      expect(backendOf(byFile.stdout)).toBe("gvisor");
      expect(backendOf((await runIn(actor, ["--backend", "linux", ...words])).stdout)).toBe("linux");
    });

    it("a sandbox that is out of memory ends whole, and says of what", async () => {
      const hungry = ["python3", "-c", "x = b'a' * 400_000_000"];
      const ran = await runIn(actor, ["--backend", "gvisor", "--memory", "64m", ...bare, ...hungry]);
      expect(ran.status).not.toBe(0);
      // Without a cgroup its processes are limited by their addresses, and are told.
      if (actor.name === "root") expect(ran.stderr).toMatch(/the memory limit of 64 MiB was reached.*\n.*--memory/);
    });

    it("is never used where nobody names it", async () => {
      expect(backendOf((await runIn(actor, ["--json", ...bare, "true"])).stdout)).toBe("linux");
    });

    it("keeps streams and status apart, ends at a time limit, and shows the project without its secrets", async () => {
      const project = actor.folder();
      writeFileSync(join(project, ".env"), "TOKEN=of-the-host\n");
      const script = "echo out; echo err >&2; cat .env; exit 7";
      const ran = await runIn(actor, ["--backend", "gvisor", "--no-network", "sh", "-c", script], { cwd: project });
      expect([ran.status, ran.stdout]).toEqual([7, "out\n"]);
      expect(ran.stderr).toContain("err\n");
      expect(ran.stderr).not.toContain("of-the-host");
      const late = await runIn(actor, ["--backend", "gvisor", ...bare, "--timeout", "1s", "sleep", "100"]);
      expect(late.status).toBe(124);
    });

    it("keeps a sandbox that was made with it, over stops and under its name", async () => {
      const cwd = actor.folder();
      const name = `box-${actor.name}`;
      const ask = (...words: string[]) => runCli(actor, words, { cwd });
      try {
        expect(await ask("create", name, "--backend", "gvisor", "--no-network")).toMatchObject({ status: 0 });
        const first = await ask("exec", name, "sh", "-c", "echo kept > /opt/file; cat /proc/version");
        expect(first.stdout).not.toBe(readFileSync("/proc/version", "utf8"));
        expect(JSON.parse((await ask("info", name, "--json")).stdout).data.backend).toBe("gvisor");
        await ask("stop", name);
        await ask("start", name);
        expect(await ask("exec", name, "cat", "/opt/file")).toMatchObject({ status: 0, stdout: "kept\n" });
        const refused = await ask("create", `${name}-2`, "--backend", "kubernetes");
        expect(refused).toMatchObject({ status: 125, stderr: expect.stringContaining("kubernetes") });
      } finally {
        await ask("remove", "--force", name);
        await ask("daemon", "stop");
      }
    });

    it("is built ahead: one that waited shows the caller's project without its secrets, and serves once", async () => {
      await inWorld(actor, async (world) => {
        const env = { AGENTKERNEL_NODE: process.execPath };
        const status = async () => JSON.parse(await world.ok(["daemon", "status", "--json"], { env })).data.pool;
        const run = async (word: string) => {
          const project = makeProject(actor, { "a.txt": `${word}\n`, ".env": "TOKEN=of-the-host\n" });
          const script = "cat a.txt .env 2>/dev/null; ls /tmp; echo left > /tmp/left; echo changed > a.txt; cat a.txt";
          const words = ["run", "--backend", "gvisor", "--no-network", "sh", "-c", script];
          expect(await world.ak(words, { cwd: project.path })).toMatchObject({ stdout: `${word}\nchanged\n` });
          expect(project.content()["a.txt"]).toBe(`${word}\n`);
        };
        await run("first");
        await expect.poll(async () => (await status()).warm).toBeGreaterThan(1);
        await run("second");
        await run("third");
        expect((await status()).taken).toBe(2);
      });
    });

    it("doctor proves it, and says what it lacks and why", async () => {
      const { stdout } = await runCli(actor, ["doctor", "--json"]);
      const { backends } = JSON.parse(stdout).data;
      const found = backends.find(({ name }: { name: string }) => name === "gvisor");
      expect(found).toMatchObject({ usable: true, detail: expect.stringMatching(/by (systrap|kvm|ptrace)/) });
      expect(found.lacks).toContainEqual({ capability: "network", reason: expect.stringContaining("HTTP_PROXY") });
      const kept = readdirSync(join(actor.home, ".local/state/agentkernel/proofs"));
      expect(kept).toContain("gvisor.json");
    });
  });
}
