/**
 * One agentkernel.toml, one project, one image: whatever isolates the sandbox, the same is observed. The table that
 * comes of it is docs/same-everywhere.md; a difference between backends, or from that page, fails.
 */
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { BackendName } from "../../src/core/backend.js";
import { actors } from "../support/actors.js";
import { DockerEngine } from "../support/docker.js";
import { loadSmallImage } from "../support/engine-image.js";
import { provenGvisor } from "../support/gvisor-backend.js";
import { answering, withServer } from "../support/loopback-server.js";
import { Podman } from "../support/podman.js";
import { makeProject, type Project } from "../support/project.js";
import { type CliResult, runCli } from "../support/run-cli.js";
import { testFolder } from "../support/test-folder.js";
import { type Observation, observations } from "./same-everywhere/observations.js";

const [actor] = actors;
if (actor === undefined) throw new Error("there is no actor");
const gvisor = await provenGvisor(actor);
const names: readonly BackendName[] = ["linux", "docker", "podman", ...(gvisor === null ? [] : ["gvisor" as const])];

const IMAGE = "localhost/agentkernel-small:1";
const TOML = `[sandbox]
base_image = "${IMAGE}"

[resources]
vcpus = 1
memory_mb = 192
pids = 64
open_files = 256

[security]
profile = "moderate"
network = false
`;
const files = { "a.txt": "of the host\n", ".env": "TOKEN=of-the-host\n", "sub/b.txt": "b\n" };

describe.skipIf(actor.name !== "root")("the same agentkernel.toml", () => {
  const docker = new DockerEngine(join(testFolder(), "docker-same"));
  const podman = new Podman(join(testFolder(), "podman-same"), "overlay");
  let env: Record<string, string> = {};

  beforeAll(async () => {
    const [, podmanSocket] = await Promise.all([docker.start(), podman.serve()]);
    const [, id] = await Promise.all([docker.socketPath, podmanSocket].map(loadSmallImage));
    // Which has no name for what it imports.
    await podman.run("tag", id ?? "", IMAGE);
    // Named by the file alone.
    env = {
      AGENTKERNEL_IMAGE: "",
      DOCKER_HOST: `unix://${docker.socketPath}`,
      CONTAINER_HOST: `unix://${podmanSocket}`,
    };
    const imported = await runCli(actor, ["images", "import", `docker-daemon:${IMAGE}`], { env });
    expect(imported).toMatchObject({ status: 0 });
  });
  afterAll(async () => {
    await Promise.all([docker.stop(), podman.stop()]);
  });

  const observe = async (backend: BackendName, observation: Observation, port: number): Promise<string> => {
    const project: Project = makeProject(actor, { ...files, "agentkernel.toml": TOML });
    const before = project.content();
    const words = ["run", "--backend", backend, ...(observation.options ?? []), "--", ...observation.command(port)];
    const ran: CliResult = await runCli(actor, words, { cwd: project.path, env, stdin: observation.stdin ?? "" });
    // Whatever is asked of it, nothing of the host changes.
    expect(project.content()).toEqual(before);
    if (ran.status === 125 && !observation.mayEndAll)
      throw new Error(`${observation.what} on ${backend}: ${ran.stderr}`);
    return observation.seen(ran);
  };

  it("gives the same observable behaviour on every backend", async () => {
    const rows: string[] = [];
    await withServer(answering("the host"), async (port) => {
      for (const observation of observations) {
        const seen: string[] = [];
        for (const name of names) seen.push(await observe(name, observation, port));
        const all = Object.fromEntries(names.map((name, index) => [name, seen[index]]));
        const expected = Object.fromEntries(names.map((name) => [name, seen[0]]));
        expect(all, observation.what).toEqual(expected);
        rows.push(`| ${observation.what} | ${seen[0]} |`);
      }
    });
    if (gvisor !== null) await expect(page(rows)).toMatchFileSnapshot("../../docs/same-everywhere.md");
  }, 300_000);
});

function page(rows: readonly string[]): string {
  return [
    "# The same everywhere",
    "",
    "Written by `test/e2e/same-everywhere.test.ts`: one project with this `agentkernel.toml`, run on linux, docker, podman and gvisor.",
    "What is in a row was observed on all four. What a backend lacks is in [backends.md](backends.md).",
    "",
    "```toml",
    TOML.trimEnd(),
    "```",
    "",
    "| what | observed on linux, docker, podman and gvisor |",
    "| --- | --- |",
    ...rows,
    "",
  ].join("\n");
}
