/** A registry that serves something else, too much, or nonsense; and a credential helper that talks too much. */
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { hostPlatform } from "../../../src/images/index.js";
import { actors } from "../../support/actors.js";
import { isManifest, reply } from "../../support/registry-answers.js";
import { documentOf, makeImage, noise } from "../../support/registry-image.js";
import { ScriptedRegistry } from "../../support/registry-scripted.js";
import { type CliResult, runCli } from "../../support/run-cli.js";
import { tarArchive } from "../../support/tar-archive.js";

const { architecture } = hostPlatform();
const imageOf = (mark: string) => makeImage({ layers: [tarArchive([{ name: "mark", content: mark }])], architecture });
const honest = imageOf("honest");
const evil = imageOf("evil");
const [layer = honest.config] = honest.layers;
const manifestType = "application/vnd.oci.image.manifest.v1+json";

describe.each(actors)("A8 as $name: a registry serves what was not asked for", (actor) => {
  let registry: ScriptedRegistry;
  let env: Record<string, string> = {};
  let project = "";
  beforeEach(async () => {
    registry = await ScriptedRegistry.start();
    registry.addImage("team/app", "1", honest);
    env = { XDG_DATA_HOME: actor.folder("data") };
    project = actor.folder();
  });
  afterEach(() => registry.stop());

  const images = (...words: string[]): Promise<CliResult> => runCli(actor, ["images", ...words], { env, cwd: project });
  const listed = async (): Promise<unknown[]> => JSON.parse((await images("list", "--json")).stdout).data;
  const expectRefused = async (message: RegExp, ...words: string[]): Promise<void> => {
    const { status, stderr } = await images("pull", ...words, `${registry.host}/team/app:1`);
    expect({ status, stderr }).toMatchObject({ status: 125, stderr: expect.stringMatching(message) });
    expect(await listed()).toEqual([]);
  };

  it("is believed where nothing says otherwise: the attack is real", async () => {
    registry.addImage("team/app", "1", evil);
    expect((await images("pull", `${registry.host}/team/app:1`)).stdout).toContain(evil.manifest.digest);
  });

  it("a moved tag changes nothing for a project that is locked", async () => {
    await images("lock", `${registry.host}/team/app:1`);
    registry.addImage("team/app", "1", evil);
    const { stdout, stderr } = await images("pull", `${registry.host}/team/app:1`);
    expect(stdout).toContain(honest.manifest.digest);
    expect(stderr).toContain(evil.manifest.digest.slice(0, 19));
  });

  it("another manifest under the digest that is locked", async () => {
    await images("lock", `${registry.host}/team/app:1`);
    registry.script = (seen, response) =>
      isManifest(seen) && reply(200, { "content-type": manifestType }, evil.manifest.bytes)(response);
    await expectRefused(/sent a manifest that is sha256:\w+… and not sha256:/);
  });

  it("another layer, and a longer one", async () => {
    const bytes = layer.bytes.length;
    for (const [content, message] of [
      [noise(bytes, "evil"), /is something else/],
      [noise(bytes * 2, "evil"), /sent more than the \d+ bytes/],
    ] as const) {
      registry.script = (seen, response) => seen.url.includes(layer.digest) && reply(200, {}, content)(response);
      await expectRefused(message);
    }
  });

  it.each<[string, () => object | Buffer, RegExp]>([
    ["of a hundred megabytes", () => Buffer.alloc(100_000_000, " "), /manifest of more than 4 MiB/],
    [
      "of twenty-five thousand layers",
      () => bomb({ layers: Array.from({ length: 25_000 }, () => descriptor(10)) }),
      /25000 layers/,
    ],
    [
      "of a layer as large as a disk",
      () => bomb({ layers: [descriptor(2 ** 50)] }),
      /more than the \d+ that are allowed/,
    ],
    [
      "of a configuration as large as a disk",
      () => bomb({ config: { ...descriptor(2 ** 40), mediaType: honest.config.mediaType } }),
      /more than the \d+ that are allowed/,
    ],
    [
      "that is nested beyond reason",
      () => Buffer.from(`${'{"a":'.repeat(500_000)}1${"}".repeat(500_000)}`),
      /no JSON object|neither clearly|schema/,
    ],
    [
      "that is both an image and an index",
      () => bomb({ manifests: [] }),
      /neither clearly an image nor clearly an index/,
    ],
  ])("a manifest %s", async (_name, content, message) => {
    const { bytes } = documentOf(content(), manifestType);
    registry.script = (seen, response) =>
      isManifest(seen) && reply(200, { "content-type": manifestType }, bytes)(response);
    await expectRefused(message);
  });

  it("what a credential helper prints, right or wrong, is in no output", async () => {
    const helpers = actor.folder("helpers");
    const program = join(helpers, "docker-credential-loud");
    writeFileSync(join(helpers, "config.json"), JSON.stringify({ credHelpers: { [registry.host]: "loud" } }));
    registry.script = (_seen, response) =>
      reply(401, { "www-authenticate": 'Basic realm="s3cret"' }, "s3cret")(response);
    for (const script of [
      `echo '{"Username":"user","Secret":"s3cret"}'`,
      "echo s3cret; echo s3cret >&2; exit 1",
      "echo s3cret",
      `echo '{"Username":"s3cret"'`,
    ]) {
      writeFileSync(program, `#!/bin/sh\ncat >/dev/null\n${script}\n`);
      chmodSync(program, 0o755);
      const more = { DOCKER_CONFIG: helpers, PATH: `${helpers}:/usr/bin:/bin`, AGENTKERNEL_DEBUG: "1" };
      for (const json of [[], ["--json"]]) {
        const words = ["images", "pull", ...json, `${registry.host}/team/app:1`];
        const { status, stdout, stderr } = await runCli(actor, words, { env: { ...env, ...more }, cwd: project });
        expect(status).toBe(125);
        expect(stdout + stderr).not.toContain("s3cret");
        expect(JSON.stringify(registry.seen.map(({ url, body }) => [url, body]))).not.toContain("s3cret");
      }
    }
  });
});

function descriptor(size: number): object {
  return { mediaType: "application/vnd.oci.image.layer.v1.tar", digest: layer.digest, size };
}

function bomb(parts: object): object {
  return { ...JSON.parse(honest.manifest.bytes.toString()), ...parts };
}
