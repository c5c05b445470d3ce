/**
 * Engines that die or have no room, containers that are taken away, owners that are killed: what is left, and who is
 * told. All in an image of one static program, so that nothing but ours helps.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { dockerBackend } from "../../src/backends/docker/index.js";
import { EngineClient } from "../../src/backends/engine/client.js";
import { Container } from "../../src/backends/engine/container.js";
import { Engine } from "../../src/backends/engine/engine.js";
import { type Labels, labels, ownedLabels } from "../../src/backends/engine/labels.js";
import { commit, hold, letGo, sweepCopyImages } from "../../src/backends/engine/persistent/copy-images.js";
import { ownContainers, sweepOrphans } from "../../src/backends/engine/sweep.js";
import { podmanBackend } from "../../src/backends/podman/index.js";
import type { Backend } from "../../src/core/backend.js";
import { deferred } from "../../src/core/deferred.js";
import { type GuestExec, GuestSession } from "../../src/guest/index.js";
import { bootSpec, Subject } from "../contract/suite/subject.js";
import { actors } from "../support/actors.js";
import { DockerEngine, processesAbout } from "../support/docker.js";
import { engineOptions, withImage } from "../support/engine-backend.js";
import { loadBareImage, loadEmptyImage } from "../support/engine-image.js";
import { Podman } from "../support/podman.js";
import { makeProject } from "../support/project.js";
import { inWorld } from "../support/sandbox-world.js";
import { SlowEngine } from "../support/slow-engine.js";
import { testFolder } from "../support/test-folder.js";
import { WatchedCli } from "../support/watched-cli.js";

const [actor] = actors;
if (actor === undefined) throw new Error("there is no actor");

/** With a disk of its own that can be filled. */
const DISK_MIB = 96;
/** The end of a container takes Podman 4.3 twenty seconds on such a disk: what needs one is tried when asked for. */
const isThorough = process.env.AGENTKERNEL_TEST_THOROUGH === "1";

interface RunningEngine {
  readonly socketPath: string;
  crash(): Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
}

function ownDisk(name: string): string {
  const folder = join(testFolder(), `${name}-faults`);
  mkdirSync(folder, { recursive: true });
  execFileSync("mount", ["-t", "tmpfs", "-o", `size=${DISK_MIB}m`, "tmpfs", folder]);
  return folder;
}

async function startEngine(kind: "docker" | "podman"): Promise<RunningEngine> {
  const disk = ownDisk(kind);
  const unmount = () => void execFileSync("umount", ["--lazy", disk]);
  if (kind === "docker") {
    const engine = new DockerEngine(join(disk, "engine"));
    await engine.start();
    const stop = async () => {
      await engine.stop();
      unmount();
    };
    return { socketPath: engine.socketPath, crash: () => engine.crash(), start: () => engine.start(), stop };
  }
  const engine = new Podman(join(disk, "engine"), "overlay");
  const socketPath = await engine.serve();
  const start = async () => void (await engine.serve());
  const stop = async () => {
    await engine.stop();
    unmount();
  };
  return { socketPath, crash: () => engine.crash(), start, stop };
}

describe.skipIf(actor.name !== "root").each(["docker", "podman"] as const)("sandboxes on %s", (kind) => {
  let engine: RunningEngine;
  let client: EngineClient;
  let image = "";
  const addressVariable = kind === "docker" ? "DOCKER_HOST" : "CONTAINER_HOST";
  const env = () => ({ [addressVariable]: `unix://${engine.socketPath}` });
  const onEngine = () => (kind === "docker" ? dockerBackend : podmanBackend)(engineOptions(actor, env()));
  const backend = () => withImage(onEngine(), image);
  const create = async (name: string, found: Readonly<Record<string, string>>) =>
    await Container.create(client, name, { Image: image, Cmd: ["sh"], Labels: found });
  const copyImages = async () => {
    const filters = JSON.stringify({ label: [`${labels.kind}=copy`] });
    const images = (await client.get("/images/json", { query: { all: "1", filters } })) as { Labels: Labels }[];
    return images.map((found) => ({ token: found.Labels[labels.copy] ?? "" }));
  };
  const ids = async () => (await ownContainers(client)).map(({ id }) => id);

  /** Podman does not tell a container that its owner is gone; the next sandbox does. */
  const nextOne = async () => {
    if (kind === "podman") await (await Subject.boot(backend())).kill();
  };

  beforeAll(async () => {
    engine = await startEngine(kind);
    client = new EngineClient(engine.socketPath);
    image = await loadBareImage(engine.socketPath);
  });
  afterAll(() => engine.stop());

  const takingLong = it.skipIf(kind === "podman" && !isThorough);

  takingLong("an image with nothing in it boots, and its files can be written and read", async () => {
    const empty = await loadEmptyImage(engine.socketPath);
    const sandbox = await Subject.boot(withImage(onEngine(), empty));
    await sandbox.files.writeFile("/made", Buffer.from("by the guest"));
    expect((await sandbox.files.readFile("/made", 100)).toString()).toBe("by the guest");
    const { exec } = await sandbox.start(["/bin/sh"]);
    exec.opened.catch(() => {});
    await expect(exec.exited).rejects.toMatchObject({ code: "command_not_found" });
    await sandbox.kill();
  });

  it("a container whose owner is gone is swept; one that has its owner, and what is not ours, stays", async () => {
    const own = ownedLabels("run", "run-1", "/a/state/engine");
    const dead = spawnSync("true").pid;
    const mark = (own[labels.owner] ?? "").replace(/-\d+-(\d+)$/, `-${dead}-$1`);
    const orphan = await create("agentkernel-run-orphan", { ...own, [labels.owner]: mark });
    const owned = await create("agentkernel-run-owned", own);
    const foreign = await create("agentkernel-run-foreign", {});
    const others = await create("agentkernel-run-others", { ...own, [labels.owner]: mark, [labels.user]: "4711" });
    expect(await sweepOrphans(client)).toEqual([orphan.id]);
    expect(await ids()).toEqual([owned.id]);
    for (const stays of [foreign, others]) expect(await stays.inspect()).not.toBeNull();
    for (const left of [owned, foreign, others]) await left.remove();
  });

  it("a container that is removed behind our back is a sandbox that died, and carries nothing over", async () => {
    const project = makeProject(actor, { "a.txt": "a\n" });
    const fields = { "fs.workspace.mode": "sync" } as const;
    const sandbox = await Subject.boot(backend(), { projectDir: project.path, fields });
    const command = await sandbox.start(["sh", "-c", "echo x > /workspace/a.txt; sleep 4301"]);
    await command.exec.opened;
    const [id = ""] = await ids();
    await new Container(client, id).remove();
    await expect(command.exec.exited).rejects.toMatchObject({ code: "sandbox_died" });
    await expect(sandbox.finish()).rejects.toMatchObject({ code: "sandbox_died" });
    expect(await ids()).toEqual([]);
    expect(project.content()).toEqual({ "a.txt": "a\n" });
  });

  it("a kept container that is removed behind our back is told of, and the sandbox can be removed", async () => {
    const { kept } = backend();
    if (kept === undefined) throw new Error("it keeps none");
    const folder = actor.ownFolder("state");
    const sandbox = await kept.start(bootSpec({}), folder);
    const [id = ""] = await ids();
    await new Container(client, id).remove();
    // Whoever looks at once may still see how it ended.
    expect(await sandbox.over).toMatchObject({ how: expect.stringMatching(/lost|ended/) });
    await expect(kept.start(bootSpec({}), folder)).rejects.toMatchObject({ code: "sandbox_died" });
    await kept.remove(folder);
    expect(await ids()).toEqual([]);
  });

  takingLong("what is built ahead and given up leaves nothing, whatever step it was at", async () => {
    const spec = { ...bootSpec({}), image: { kind: "engine", engine: kind, id: image } } as const;
    for (const afterMs of [null, 0, 4, 16, 64, 256]) {
      const abort = new AbortController();
      if (afterMs === null) abort.abort(new Error("given up"));
      else setTimeout(() => abort.abort(new Error("given up")), afterMs);
      await onEngine()
        .shapeOf?.(spec)
        ?.build(abort.signal)
        .then(
          // It was quicker than the signal.
          (warm) => warm.discard(),
          (error: unknown) => expect(error).toMatchObject({ message: "given up" }),
        );
      expect(await ids(), `given up after ${afterMs} ms`).toEqual([]);
    }
  });

  const onSlow = async (question: string, use: (slow: SlowEngine, backend: Backend) => Promise<void>) => {
    const slow = await SlowEngine.before(engine.socketPath, join(testFolder(), `slow-${kind}.sock`), question);
    const options = engineOptions(actor, { [addressVariable]: `unix://${slow.socketPath}` });
    try {
      await use(slow, withImage((kind === "docker" ? dockerBackend : podmanBackend)(options), image));
    } finally {
      await slow.close();
    }
  };

  it.skipIf(kind === "podman")("a sandbox's end is the kernel's to tell, however long the engine takes", async () => {
    await onSlow("/wait?", async (slow, slowly) => {
      for (const how of ["finish", "kill"] as const) {
        const sandbox = await Subject.boot(slowly);
        const command = await sandbox.start(["sh", "-c", "echo up; sleep 4305.25"]);
        await command.exec.opened;
        expect(await sandbox[how]()).toMatchObject({
          code: null,
          signal: 9,
          oomKills: 0,
          cpuUs: expect.any(Number),
        });
        await expect(command.exec.exited).rejects.toMatchObject({ code: "sandbox_died" });
        expect(processesAbout("4305.25")).toEqual([]);
      }
      slow.release();
      await expect.poll(ids).toEqual([]);
    });
  });

  takingLong("a command that is known runs before the engine has said that its container is started", async () => {
    await onSlow("/start", async (slow, slowly) => {
      const ahead = deferred<GuestExec>();
      const booting = slowly.boot(bootSpec({}), undefined, (stream) => {
        const command = { argv: ["sh", "-c", "exit 7"], cwd: "/", env: {}, stdin: false };
        new GuestSession(stream).exec(command).then(ahead.resolve, ahead.reject);
      });
      expect(await (await ahead.promise).exited).toMatchObject({ code: 7 });
      slow.release();
      await (await booting).kill();
      await expect.poll(ids).toEqual([]);
    });
  });

  takingLong("kill -9 of the command line takes its container along", async () => {
    const words = ["run", "--no-network", "--workspace", "none", "--backend", kind, "--image", image];
    const cli = new WatchedCli(actor, [...words, "sh", "-c", "echo up; sleep 4302"], {
      env: { ...env(), AGENTKERNEL_DAEMON: "off" },
    });
    await cli.until(/up/);
    expect(await ids()).toHaveLength(1);
    cli.child.kill("SIGKILL");
    await cli.end;
    await nextOne();
    await expect.poll(ids).toEqual([]);
  });

  takingLong(
    "kill -9 of the daemon takes its runs and warm containers along, and the next one has what was kept",
    async () => {
      await inWorld(
        actor,
        async (world) => {
          const on = ["--no-network", "--workspace", "none", "--backend", kind, "--image", image];
          await world.ok(["create", ...on, "box"]);
          await world.ok(["start", "box"]);
          await world.ok(["exec", "box", "sh", "-c", "echo kept > /file"]);
          const run = world.watch(["run", ...on, "sh", "-c", "echo up; sleep 4304"], { env: env() });
          await run.until(/up/);
          await world.restart();
          await run.end;
          expect(await world.ok(["exec", "box", "cat", "/file"])).toBe("kept\n");
          await nextOne();
          const kinds = async () => (await ownContainers(client)).map((found) => found.labels[labels.kind]);
          await expect.poll(kinds).toEqual(["kept"]);
          await world.ok(["remove", "--force", "box"]);
        },
        { env: env() },
      );
      await expect.poll(ids).toEqual([]);
    },
  );

  it("an image of a copy goes with the last that needs it, and one that nobody needs is swept; others stay", async () => {
    const copied = new Engine({
      kind,
      client,
      programs: engineOptions(actor, {}).programs,
      folder: actor.ownFolder("engine"),
    });
    const container = await create("agentkernel-kept-copied", {});
    const make = (token: string) => commit(copied, container.id, token);
    const found = async () => (await copyImages()).map(({ token }) => token).sort();
    hold(copied, "aa", "first");
    hold(copied, "aa", "second");
    await make("aa");
    // What an engine finished after whoever asked for it was killed: nobody has written down that it is needed.
    await make("bb");
    const elsewhere = new Engine({ kind, client, programs: copied.programs, folder: actor.ownFolder("engine") });
    await commit(elsewhere, container.id, "cc");
    expect(await found()).toEqual(["aa", "bb", "cc"]);
    await letGo(copied, "aa", "first");
    expect(await found()).toEqual(["aa", "cc"]);
    await letGo(copied, "aa", "second");
    expect(await found()).toEqual(["cc"]);
    await container.remove();
    await sweepCopyImages(elsewhere);
    expect(await found()).toEqual([]);
  });

  takingLong("snapshots and forks through the daemon, which is killed while one is made", async () => {
    await inWorld(
      actor,
      async (world) => {
        await world.ok(["create", "--no-network", "--workspace", "none", "--backend", kind, "--image", image, "box"]);
        await world.ok(["start", "box"]);
        await world.ok(["exec", "box", "sh", "-c", "echo kept > /file"]);
        const half = world.watch(["snapshot", "--name", "half", "box"]);
        await expect.poll(() => existsSync(join(world.folder(""), "../snapshots/half/jail/saved.json"))).toBe(true);
        await world.crash();
        await half.end;
        await world.up();
        expect(await world.states()).toEqual({ box: "running" });
        const { data } = JSON.parse(await world.ok(["snapshots", "list", "--json"]));
        // It was whole before its daemon died, or it is not there.
        for (const { name } of data) await world.ok(["snapshots", "remove", name]);
        expect(readdirSync(join(world.folder(""), "../snapshots"))).toEqual([]);

        await world.ok(["snapshot", "--name", "whole", "box"]);
        expect(await copyImages()).toHaveLength(1);
        await world.ok(["exec", "box", "sh", "-c", "echo later > /file"]);
        await world.ok(["restore", "--start", "whole", "again"]);
        await world.ok(["fork", "box", "twin"]);
        await world.ok(["snapshots", "remove", "whole"]);
        expect(await world.ok(["exec", "again", "cat", "/file"])).toBe("kept\n");
        expect((await world.ak(["exec", "twin", "cat", "/file"])).stdout).toBe("later\n");
        await world.ok(["remove", "--force", "again", "twin", "box"]);
      },
      { env: env() },
    );
    await expect.poll(ids).toEqual([]);
    expect(await copyImages()).toEqual([]);
  });

  takingLong(
    "a disk that is full is the command's error, and new sandboxes are refused until there is room",
    async () => {
      const full = await Subject.boot(backend());
      const filled = await full.sh("dd if=/dev/zero of=/fill bs=1048576 count=4096");
      expect(filled.stderr).toMatch(/No space left/);
      expect(await full.sh("echo lives")).toMatchObject({ stdout: "lives\n" });
      await expect(Subject.boot(backend())).rejects.toMatchObject({
        code: expect.stringMatching(/sandbox_start_failed|resource_exhausted/),
        message: expect.stringMatching(/no space left/i),
      });
      // Podman 4.3 cannot remove a container while its own storage has no room.
      if (kind === "podman") await full.sh("rm /fill");
      await full.kill();
      await expect.poll(ids).toEqual([]);
      const next = await Subject.boot(backend());
      expect(await next.sh("echo works")).toMatchObject({ stdout: "works\n" });
      await next.kill();
    },
  );

  it("an engine that is killed is told of, and after its return nothing of the sandbox is left", async () => {
    const sandbox = await Subject.boot(backend());
    const command = await sandbox.start(["sleep", "4303"]);
    await command.exec.opened;
    await engine.crash();
    await expect(command.exec.exited).rejects.toMatchObject({ code: "sandbox_died" });
    await expect(sandbox.ended).rejects.toMatchObject({ code: "sandbox_died" });
    await expect(Subject.boot(backend())).rejects.toMatchObject({ code: "backend_unavailable" });
    await engine.start();
    const next = await Subject.boot(backend());
    await expect.poll(ids).toHaveLength(1);
    expect(await next.sh("echo works")).toMatchObject({ stdout: "works\n" });
    await next.kill();
  });
});
