/** The apple backend against a double of Apple's `container` that is made from its documentation, with the real guest. */
import { join } from "node:path";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { ContainerCli } from "../../src/backends/apple/cli.js";
import { endAllOnApple, ownContainers, ownLabels } from "../../src/backends/apple/owners.js";
import type { Backend, BootSpec } from "../../src/core/backend.js";
import { engineFolder } from "../../src/core/state-folders.js";
import { resolve } from "../../src/policy/resolve.js";
import { appleCandidateOn } from "../../src/runtime/backends/apple-candidate.js";
import { TemporarySandbox, temporaryId } from "../../src/runtime/temporary-sandbox.js";
import { actors } from "../support/actors.js";
import { AppleDouble } from "../support/apple/double.js";
import { makeProject } from "../support/project.js";

const mac = { platform: "darwin", arch: "arm64", release: "25.1.0" } as const;
/** More than the kernel has numbers for. */
const NOBODY = 2 ** 22 + 1;
const [actor] = actors;
if (actor === undefined) throw new Error("there is no actor");

const apple = new AppleDouble(actor.folder("apple"), join(actor.dist, "native"));
const env = { PATH: `${apple.folder}:/usr/bin:/bin`, AGENTKERNEL_LINUX_GUEST: apple.guestFolder };
const host = { env, homeDir: actor.home, resident: null };
const folder = engineFolder(env, actor.home);
beforeEach(() => apple.set({}));

describe("whether Apple's containers work", () => {
  const proof = (machine: Parameters<typeof appleCandidateOn>[0] = mac, more = {}) =>
    appleCandidateOn(machine).prove({ ...host, env: { ...env, ...more } });

  it.each([
    ["another system", { ...mac, platform: "linux" } as const, {}, /needs macOS 26/],
    ["another processor", { ...mac, arch: "x64" }, {}, /needs Apple silicon/],
    ["an earlier macOS", { ...mac, release: "24.6.0" }, {}, /needs macOS 26/],
    ["no program", mac, { AGENTKERNEL_CONTAINER: "/nonexistent/container" }, /no `container`/],
    [
      "no guest for it",
      mac,
      { AGENTKERNEL_LINUX_GUEST: "/nonexistent" },
      /no ak-entry and ak-guest for Linux on arm64/,
    ],
  ])("%s is told", async (_, machine, more, reason) => {
    expect(await proof(machine, more)).toMatchObject({ works: false, detail: expect.stringMatching(reason) });
  });

  it("its service is asked, and its version; that it is unverified is always said", async () => {
    expect(await proof()).toMatchObject({
      works: true,
      detail: "container 1.2.0 answers",
      facts: { program: apple.program, remark: expect.stringContaining("not yet verified on a Mac") },
    });
    apple.set({ version: "0.9.1" });
    expect(await proof()).toMatchObject({ works: false, detail: expect.stringMatching(/0\.9\.1.*not yet verified/) });
    apple.set({ isRunning: false });
    expect(await proof()).toMatchObject({ works: false, nextStep: "run `container system start`" });
  });
});

describe.skipIf(actor.name !== "root")("a sandbox on apple", () => {
  const cli = new ContainerCli(apple.program);
  let backend: Backend;
  beforeAll(async () => {
    apple.set({});
    const candidate = appleCandidateOn(mac);
    backend = candidate.open(host, await candidate.prove(host));
  });

  type Fields = NonNullable<Parameters<typeof resolve>[0]["flags"]>[number]["fields"];

  async function specOf(fields: Fields = {}, projectDir: string | null = null): Promise<BootSpec> {
    const { policy } = resolve({
      flags: [
        {
          origin: "test",
          fields: { "fs.workspace.mode": projectDir ? "copy" : "none", "net.egress": "off", ...fields },
        },
      ],
    });
    const request = { reference: apple.image, pull: "never" } as const;
    const found = await backend.findImage?.(request);
    if (found === undefined) throw new Error("the backend has no images");
    const id = temporaryId();
    return { id, hostname: id, policy, image: found.source, projectDir, homeDir: null };
  }

  async function sh(sandbox: TemporarySandbox, script: string) {
    const words = { argv: ["/bin/sh", "-c", script], cwd: "/workspace", env: { PATH: "/usr/bin:/bin" }, stdin: false };
    const exec = await sandbox.exec(words);
    const said = { 1: "", 2: "" };
    for (const stream of [1, 2] as const) {
      const write = (chunk: Buffer, done: () => void) => {
        said[stream] += chunk.toString();
        done();
      };
      exec.onOutput(stream, { write, end: () => {} });
    }
    const { code } = await exec.exited;
    return { code, stdout: said[1], stderr: said[2] };
  }

  it("runs commands on the real guest, with a copy of the project, no secrets, no network, and nothing left", async () => {
    apple.addContainer("somebody-elses", { "agentkernel.kind": "run" });
    const project = makeProject(actor, { "a.txt": "a\n", ".env": "KEY=1\n" });
    const spec = await specOf({ "fs.rootReadonly": true }, project.path);
    const sandbox = await TemporarySandbox.start(backend, spec);
    const ran = await sh(sandbox, "cat a.txt; echo new > b; ls -A; echo $$ >&2; touch /opt-is-not 2>/dev/null; exit 7");
    expect(ran).toMatchObject({ code: 7, stdout: "a\na.txt\nb\n" });
    expect((await sh(sandbox, "cut -d: -sf1 /proc/net/dev | grep -v '|'")).stdout.trim()).toBe("lo");
    expect((await sh(sandbox, "touch /file")).stderr).toMatch(/Read-only file system|Permission denied/);
    const own = await ownContainers(cli);
    expect(own.map(({ id }) => id)).toEqual([`agentkernel-${spec.id}`]);
    expect(sandbox.layers).toContainEqual({ name: "virtual machine", state: "applied" });
    expect(sandbox.layers).toContainEqual(expect.objectContaining({ name: "seccomp", state: "applied" }));
    await sandbox.finish();
    expect(await ownContainers(cli)).toEqual([]);
    expect(project.content()).toMatchObject({ "a.txt": "a\n" });
    // It has no label of this user, so it is not ours.
    expect(await cli.ask(["list", "--all", "--format", "json"])).toContain("somebody-elses");
  });

  it("is not started where a container without a network has one after all", async () => {
    apple.set({ knowsNone: false });
    const refused = TemporarySandbox.start(backend, await specOf());
    await expect(refused).rejects.toMatchObject({ code: "layer_unavailable", hint: expect.stringMatching(/./) });
    expect(await ownContainers(cli)).toEqual([]);
  });

  it("what a killed owner left is swept, and the kill switch ends what runs", async () => {
    apple.addContainer("left", { ...ownLabels("left", folder), "agentkernel.owner": String(NOBODY) });
    apple.addContainer("waits", ownLabels("waits", folder));
    const candidate = appleCandidateOn(mac);
    const fresh = candidate.open(host, await candidate.prove(host));
    const sandbox = await TemporarySandbox.start(fresh, await specOf());
    const ids = async () => (await ownContainers(cli)).map(({ id }) => id);
    await expect.poll(ids).not.toContain("left");
    expect(await endAllOnApple(cli, "/another/state")).toBe(0);
    expect(await endAllOnApple(cli, folder)).toBe(1);
    await expect(sandbox.ended).resolves.toMatchObject({ carried: null });
    expect(await ownContainers(cli)).toEqual([]);
  });

  it("images are Apple's own: found, pulled or refused", async () => {
    const find = (reference: string, pull: "missing" | "never") => backend.findImage?.({ reference, pull });
    expect(await find(apple.image, "never")).toMatchObject({
      source: { kind: "engine", engine: "apple", id: apple.image },
      defaults: { env: ["GREETING=hello"], cmd: ["/bin/sh"], user: null },
      digest: expect.stringMatching(/^sha256:/),
    });
    await expect(find("example/pulled:1", "never")).rejects.toMatchObject({ code: "image_not_found" });
    expect(await find("example/pulled:1", "missing")).toMatchObject({ source: { id: "example/pulled:1" } });
    await expect(find("example/nowhere:1", "missing")).rejects.toMatchObject({ code: "image_unavailable" });
    await expect(find("host", "missing")).rejects.toMatchObject({ code: "unsupported" });
    await expect(find("--all", "missing")).rejects.toMatchObject({ code: "invalid_argument" });
  });

  it("a word that is not in the reference is refused by the double", async () => {
    await expect(cli.ask(["run", "--privileged", apple.image])).rejects.toThrow(/Unknown option '--privileged'/);
  });
});
