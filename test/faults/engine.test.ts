/** A Docker engine that dies, containers that are taken away, owners that are killed: what is left, and who is told. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { dockerBackend } from "../../src/backends/docker/index.js";
import { EngineClient } from "../../src/backends/engine/client.js";
import { Container } from "../../src/backends/engine/container.js";
import { labels, ownedLabels } from "../../src/backends/engine/labels.js";
import { ownContainers, sweepOrphans } from "../../src/backends/engine/sweep.js";
import { Subject } from "../contract/suite/subject.js";
import { actors } from "../support/actors.js";
import { DockerEngine } from "../support/docker.js";
import { engineOptions, withImage } from "../support/engine-backend.js";
import { loadContractImage } from "../support/engine-image.js";
import { testFolder } from "../support/test-folder.js";
import { WatchedCli } from "../support/watched-cli.js";

const [actor] = actors;
if (actor === undefined) throw new Error("there is no actor");

describe.skipIf(actor.name !== "root")("sandboxes on docker", () => {
  const engine = new DockerEngine(join(testFolder(), "docker-faults"));
  const env = { DOCKER_HOST: `unix://${engine.socketPath}` };
  const client = new EngineClient(engine.socketPath);
  let image = "";
  const backend = () => withImage(dockerBackend(engineOptions(actor, env)), image);
  const create = async (name: string, found: Readonly<Record<string, string>>) =>
    await Container.create(client, name, { Image: image, Cmd: ["true"], Labels: found });
  const ids = async () => (await ownContainers(client)).map(({ id }) => id);

  beforeAll(async () => {
    await engine.start();
    image = await loadContractImage(engine.socketPath);
  });
  afterAll(() => engine.stop());

  it("a container whose owner is gone is swept; one that has its owner, and what is not ours, stays", async () => {
    const own = ownedLabels("run", "run-1");
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

  it("a container that is removed behind our back is a sandbox that died", async () => {
    const sandbox = await Subject.boot(backend());
    const command = await sandbox.start(["sleep", "4301"]);
    await command.exec.opened;
    const [id = ""] = await ids();
    await new Container(client, id).remove();
    await expect(command.exec.exited).rejects.toMatchObject({ code: "sandbox_died" });
    await sandbox.ended;
    expect(await ids()).toEqual([]);
  });

  it("kill -9 of the command line takes its container along", async () => {
    const words = ["run", "--no-network", "--workspace", "none", "--backend", "docker", "--image", image];
    const cli = new WatchedCli(actor, [...words, "sh", "-c", "echo up; sleep 4302"], {
      env: { ...env, AGENTKERNEL_DAEMON: "off" },
    });
    await cli.until(/up/);
    expect(await ids()).toHaveLength(1);
    cli.child.kill("SIGKILL");
    await expect.poll(ids, { timeout: 20_000 }).toEqual([]);
  });

  it("an engine that is killed is told of, and after its return nothing of the sandbox is left", async () => {
    const sandbox = await Subject.boot(backend());
    const command = await sandbox.start(["sleep", "4303"]);
    await command.exec.opened;
    await engine.crash();
    await expect(command.exec.exited).rejects.toMatchObject({ code: "sandbox_died" });
    await expect(sandbox.ended).rejects.toMatchObject({ code: "sandbox_died" });
    await expect(Subject.boot(backend())).rejects.toMatchObject({ code: "backend_unavailable" });
    await engine.start();
    await expect.poll(ids, { timeout: 30_000 }).toEqual([]);
    const next = await Subject.boot(backend());
    expect(await next.sh("echo works")).toMatchObject({ stdout: "works\n" });
    await next.kill();
  });
});
