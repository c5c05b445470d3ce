/** The command line and the daemon on a Docker engine of the test's own. */
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { EngineClient } from "../../src/backends/engine/client.js";
import { labels } from "../../src/backends/engine/labels.js";
import { probeEngine } from "../../src/backends/engine/probe.js";
import { ownContainers } from "../../src/backends/engine/sweep.js";
import { actors, programOf } from "../support/actors.js";
import { expectComplaint } from "../support/complaint.js";
import { DockerEngine } from "../support/docker.js";
import { loadContractImage } from "../support/engine-image.js";
import { makeProject } from "../support/project.js";
import { runCli } from "../support/run-cli.js";
import { inWorld } from "../support/sandbox-world.js";
import { testFolder } from "../support/test-folder.js";
import { WatchedCli } from "../support/watched-cli.js";

const [actor] = actors;
if (actor === undefined) throw new Error("there is no actor");

describe.skipIf(actor.name !== "root")("--backend docker", () => {
  const engine = new DockerEngine(join(testFolder(), "docker-e2e"));
  const env = { DOCKER_HOST: `unix://${engine.socketPath}` };
  const client = new EngineClient(engine.socketPath);
  let image = "";
  const on = (...words: string[]) => ["--no-network", "--backend", "docker", "--image", image, ...words];
  const kinds = async () => (await ownContainers(client)).map((found) => found.labels[labels.kind]);

  beforeAll(async () => {
    await engine.start();
    image = await loadContractImage(engine.socketPath);
  });
  afterAll(() => engine.stop());

  it("is found by a probe, which also says why it is not", async () => {
    expect(await probeEngine("docker", env)).toMatchObject({
      available: true,
      reason: null,
      version: expect.stringMatching(/^\d+\./),
      socket: engine.socketPath,
      rootless: false,
      runtimes: expect.arrayContaining(["runc"]),
    });
    const nowhere = await probeEngine("docker", { DOCKER_HOST: "unix:///no/such.sock" });
    expect(nowhere).toMatchObject({ available: false, reason: expect.stringContaining("does not answer") });
  });

  it("a run has its command's streams and status, a copy of the project, and none of its secrets", async () => {
    const project = makeProject(actor, { "a.txt": "a\n", ".env": "KEY=1\n" });
    const before = project.content();
    const script = "cat a.txt; cat .env; echo err >&2; echo new > new; exit 7";
    const ran = await runCli(actor, ["run", ...on(), "sh", "-c", script], { cwd: project.path, env });
    expect(ran, ran.stderr).toMatchObject({ status: 7, stdout: "a\n" });
    expect(ran.stderr).toMatch(/\.env: No such file[\s\S]*err/);
    expect(project.content()).toEqual(before);
    await expect.poll(kinds).toEqual([]);
  });

  it("serves where Linux has no user namespaces: nobody names it, and an image of its own will do", async () => {
    const tag = `/images/${encodeURIComponent(image)}/tag`;
    await client.post(tag, { query: { repo: "alpine", tag: "3.20" } });
    await client.post(tag, { query: { repo: "localhost/only-here", tag: "1" } });
    const none = 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"';
    const program = ["unshare", "--user", "--map-root-user", "sh", "-c", none, "sh", ...programOf(actor)];
    const nobody = { CONTAINER_HOST: "unix:///no/such.sock", AGENTKERNEL_IMAGE: "", AGENTKERNEL_DAEMON: "off" };
    const run = async (...words: string[]) => {
      const state = actor.ownFolder("state");
      const withoutNamespaces = { ...actor, program, variables: { XDG_STATE_HOME: state } };
      const asked = ["run", "--no-network", "--workspace", "none", "--json", ...words];
      const { stdout, stderr } = await runCli(withoutNamespaces, asked, { env: { ...env, ...nobody } });
      expect(stdout, stderr).not.toBe("");
      return JSON.parse(stdout);
    };
    const detected = await run("sh", "-c", "echo there");
    expect(detected.data, JSON.stringify(detected)).toMatchObject({ backend: "docker", stdout: "there\n" });
    const named = await run("--image", "localhost/only-here:1", "echo", "there");
    expect(named.data, JSON.stringify(named)).toMatchObject({ backend: "docker", stdout: "there\n" });
    const outright = await run("--backend", "linux", "--image", "host", "true");
    expect(outright).toMatchObject({ success: false, error: { code: "backend_unavailable" } });
  });

  it("a synced project has the changes after the run, and they are told", async () => {
    const project = makeProject(actor, { "a.txt": "a\n", "gone.txt": "x\n", ".env": "KEY=1\n" });
    const script = "echo b >> a.txt; rm gone.txt; ln -s /etc/passwd away; echo evil > .env; mkfifo pipe";
    const words = ["run", ...on("--workspace", "sync"), "sh", "-c", script];
    const ran = await runCli(actor, words, { cwd: project.path, env });
    expect(ran).toMatchObject({ status: 0, stdout: "" });
    expect(ran.stderr).toMatch(/not carried over[\s\S]*pipe/);
    expect(project.content()).toEqual({ "a.txt": "a\nb\n", ".env": "KEY=1\n", away: "-> /etc/passwd" });
    await expect.poll(kinds).toEqual([]);
  });

  it("the host's own programs are refused as an image, and so is one that the engine does not have", async () => {
    const tried = async (name: string) => {
      const words = ["run", "--no-network", "--backend", "docker", "--image", name, "--pull", "never", "true"];
      const { status, stderr } = await runCli(actor, words, { env });
      expect(status).toBe(125);
      return stderr;
    };
    expectComplaint(await tried("host"), /image host is not possible on this backend/, /--image/);
    expectComplaint(await tried("localhost/none:1"), /has no image localhost\/none:1/, /load/);
  });

  it("a warm container serves one run, and the daemon takes the others along", async () => {
    await inWorld(
      actor,
      async (world) => {
        const run = () =>
          world.ok(["run", ...on("--workspace", "none"), "sh", "-c", "echo $$; echo x > /tmp/x; ls /tmp"], { env });
        await run();
        await expect.poll(kinds).toContain("warm");
        const warm = (await ownContainers(client)).filter((found) => found.labels[labels.kind] === "warm");
        // One of them serves a run as soon as it is ready, and is gone for good; the pool fills up with others.
        const left = async () => {
          expect(await run()).toMatch(/\nx\n$/);
          const ids = new Set((await ownContainers(client)).map(({ id }) => id));
          return warm.filter(({ id }) => ids.has(id)).length;
        };
        await expect.poll(left).toBeLessThan(warm.length);
      },
      { env },
    );
    expect(await kinds()).toEqual([]);
  });

  it("a daemon that stops while it builds ahead, or behind a run, leaves no container", async () => {
    for (const isBuilding of [async () => {}, () => expect.poll(kinds).toContain("warm")]) {
      await inWorld(
        actor,
        async (world) => {
          await world.ok(["run", ...on("--workspace", "none"), "true"], { env });
          await isBuilding();
        },
        { env },
      );
      expect(await kinds()).toEqual([]);
    }
  });

  it("a kept sandbox shows its project live, and protected names are held for as long as it runs, whoever dies", async () => {
    await inWorld(
      actor,
      async (world) => {
        const project = makeProject(actor, { "a.txt": "a\n", ".env": "KEY=1\n" });
        const before = project.content();
        await world.ok(["create", ...on("--workspace", "mount", "--dir", project.path), "live"]);
        await world.ok(["start", "live"]);
        await world.restart();
        expect(project.content()).toMatchObject({ ".mcp.json": "{}\n" });
        const tried = "cat .env; echo evil > .mcp.json; echo new > new.txt; cat a.txt";
        expect((await world.ak(["exec", "live", "sh", "-c", tried])).stdout).toBe("a\n");
        expect(project.content()).toMatchObject({ ".mcp.json": "{}\n", "new.txt": "new\n" });
        await world.ok(["stop", "live"]);
        await expect.poll(() => project.content()).toEqual({ ...before, "new.txt": "new\n" });
        await world.ok(["remove", "--force", "live"]);
      },
      { env },
    );
  });

  it("a kept sandbox goes through its life, and keeps what it wrote", async () => {
    await inWorld(
      actor,
      async (world) => {
        const project = makeProject(actor, { "a.txt": "a\n", ".env": "KEY=1\n" });
        await world.ok(["create", ...on("--dir", project.path), "box"]);
        await world.ok(["start", "box"]);
        await world.ok(["exec", "box", "sh", "-c", "cat a.txt; echo root > /opt/file; echo new > new.txt"]);
        await world.ok(["pause", "box"]);
        expect(await world.states()).toEqual({ box: "paused" });
        await world.ok(["resume", "box"]);
        await world.ok(["stop", "box"]);
        await world.ok(["start", "box"]);
        expect(await world.ok(["exec", "box", "sh", "-c", "cat /opt/file new.txt; ls -A"])).toBe(
          "root\nnew\na.txt\nnew.txt\n",
        );
        await world.restart();
        expect(await world.ok(["exec", "box", "cat", "/opt/file"])).toBe("root\n");
        expect(await kinds()).toEqual(["kept"]);
        expect(await world.ok(["diff", "box"])).toMatch(/new\.txt/);
        await world.ok(["apply", "box"]);
        expect(project.content()).toEqual({ "a.txt": "a\n", ".env": "KEY=1\n", "new.txt": "new\n" });
        expect(await world.ok(["stop", "--all"], { env: { ...env, AGENTKERNEL_NODE: process.execPath } })).toBe(
          "1 sandbox ended\n",
        );
        await expect.poll(() => world.states()).toEqual({ box: "stopped" });
        await world.ok(["remove", "--force", "box"]);
        await expect.poll(kinds).toEqual([]);
      },
      { env },
    );
  });

  describe("A9 on docker: stop --all", () => {
    it("leaves what runs for another state directory alone, and ends it where that is asked for", async () => {
      const apart = { env: { ...env, AGENTKERNEL_NODE: process.execPath } };
      await inWorld(
        actor,
        async (world) => {
          await world.ok(["create", ...on(), "--workspace", "none", "box"]);
          await world.ok(["start", "box"]);
          const words = ["run", ...on(), "--workspace", "none", "sh", "-c", "echo up; cat"];
          const elsewhere = new WatchedCli(actor, words, {
            env: { ...env, XDG_STATE_HOME: actor.ownFolder("state") },
          });
          await elsewhere.until(/up/);
          expect(await world.ok(["stop", "--all"], apart)).toBe("1 sandbox ended\n");
          expect((await kinds()).sort()).toEqual(["kept", "run"]);
          expect(await world.ok(["stop", "--all-of-user"], apart)).toBe("1 sandbox ended\n");
          expect((await elsewhere.end).status).toBe(125);
          await expect.poll(kinds).toEqual(["kept"]);
        },
        { env },
      );
      await expect.poll(kinds).toEqual([]);
    });
  });
});
