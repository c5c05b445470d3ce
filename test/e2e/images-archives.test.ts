/** Archives between agentkernel and the tools that people have: skopeo, umoci, podman. Digests stay what they are. */
import { execFileSync } from "node:child_process";
import {
  chownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { actors } from "../support/actors.js";
import { Podman } from "../support/podman.js";
import { runCli } from "../support/run-cli.js";
import { shellCli } from "../support/shell-cli.js";

const isRoot = process.getuid?.() === 0;
const tool = (program: string, ...words: string[]): string =>
  execFileSync(program, words, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"], maxBuffer: 1e9 });
const copy = (from: string, to: string, ...words: string[]): string =>
  tool("skopeo", "copy", "--quiet", "--insecure-policy", ...words, from, to);
const inspected = (source: string): { Digest: string; Layers: string[]; Env: string[] } =>
  JSON.parse(tool("skopeo", "inspect", source));

let folder = "";
let layout = "";
let digest = "";
/** The digest of the configuration, which Docker calls the image's id. */
let id = "";

/** An image of two layers with a deleted and a replaced file, made by umoci. */
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "agentkernel-archives-"));
  layout = join(folder, "layout");
  const bundle = join(folder, "bundle");
  const umoci = (...words: string[]): string => tool("umoci", ...words);
  const rootless = isRoot ? [] : ["--rootless"];
  umoci("init", "--layout", layout);
  umoci("new", "--image", `${layout}:1`);
  umoci("config", "--image", `${layout}:1`, "--config.env", "MARK=made");
  umoci("unpack", ...rootless, "--image", `${layout}:1`, bundle);
  const root = join(bundle, "rootfs");
  mkdirSync(join(root, "etc"));
  writeFileSync(join(root, "etc", "replaced"), "old");
  writeFileSync(join(root, "etc", "deleted"), "gone");
  symlinkSync("replaced", join(root, "etc", "link"));
  umoci("repack", "--refresh-bundle", "--image", `${layout}:1`, bundle);
  writeFileSync(join(root, "etc", "replaced"), "new");
  rmSync(join(root, "etc", "deleted"));
  umoci("repack", "--image", `${layout}:1`, bundle);
  copy(`oci:${layout}:1`, `oci-archive:${join(folder, "oci.tar")}:one`);
  copy(`oci:${layout}:1`, `docker-archive:${join(folder, "docker.tar")}:localhost/app:1`);
  copy(`oci:${layout}:1`, `dir:${join(folder, "dir")}`);
  copy(
    `oci:${layout}:1`,
    `oci-archive:${join(folder, "zstd-layers.tar")}:one`,
    "--dest-compress-format",
    "zstd",
    "--dest-compress",
  );
  for (const program of ["gzip", "zstd"]) tool(program, "-q", "-k", join(folder, "oci.tar"));
  digest = inspected(`oci:${layout}:1`).Digest;
  id = JSON.parse(tool("skopeo", "inspect", "--raw", `oci:${layout}:1`)).config.digest;
  tool("chmod", "-R", "a+rX", folder);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe.each(actors)("as $name", (actor) => {
  let env: Record<string, string> = {};
  let own = "";
  beforeEach(() => {
    own = actor.folder("images");
    env = { XDG_DATA_HOME: own };
  });
  const images = async (...words: string[]): Promise<{ digest: string; [key: string]: unknown }> => {
    const { status, stdout, stderr } = await runCli(actor, ["images", ...words, "--json"], { env, cwd: own });
    expect({ status, stderr, stdout }).toMatchObject({ status: 0 });
    return JSON.parse(stdout).data;
  };

  it.each([
    ["an OCI archive", "oci.tar"],
    ["one compressed with gzip", "oci.tar.gz"],
    ["one compressed with zstd", "oci.tar.zst"],
    ["an OCI layout in a folder", "layout"],
    ["skopeo's dir:", "dir"],
  ])("%s keeps the digest that skopeo sees", async (_name, source) => {
    expect(await images("import", join(folder, source), "localhost/app:1")).toMatchObject({ digest });
  });

  it("layers in zstd are checked against what they unpack to", async () => {
    const source = `oci-archive:${join(folder, "zstd-layers.tar")}`;
    const imported = await images("import", source, "localhost/app:z");
    expect(imported.digest).toBe(inspected(source).Digest);
  });

  it("a docker archive keeps its name and its id, from a file and from a pipe", async () => {
    const path = join(folder, "docker.tar");
    expect(await images("import", path)).toMatchObject({ reference: "localhost/app:1" });
    const { stdout, status } = await shellCli(actor, `cat ${path} | agentkernel images import - --json`, { env });
    expect(status).toBe(0);
    expect(JSON.parse(stdout).data.reference).toBe("localhost/app:1");
  });

  it("what is exported as an OCI archive is what skopeo and podman read, by the same digest", async () => {
    await images("import", join(folder, "oci.tar"), "localhost/app:1");
    const out = join(own, "out.tar");
    await images("export", "localhost/app:1", out);
    expect(inspected(`oci-archive:${out}`)).toMatchObject({
      Digest: digest,
      Env: expect.arrayContaining(["MARK=made"]),
    });
    const podman = new Podman(mkdtempSync(join(folder, "podman-")));
    expect(await podman.run("load", "--quiet", "-i", out)).toContain("localhost/app:1");
    expect(await podman.run("image", "inspect", "--format", "{{.Digest}} {{.Id}}", "localhost/app:1")).toBe(
      `${digest} ${id.replace("sha256:", "")}`,
    );
  });

  it("what is exported as a docker archive is what skopeo and podman read, with the same id", async () => {
    await images("import", join(folder, "zstd-layers.tar"), "localhost/app:1");
    const out = join(own, "out.tar");
    await images("export", "--format", "docker", "localhost/app:1", out);
    const again = join(own, "again");
    copy(`docker-archive:${out}`, `dir:${again}`);
    const config = JSON.parse(readFileSync(join(again, "manifest.json"), "utf8")).config.digest;
    expect(config).toBe(
      JSON.parse(tool("skopeo", "inspect", "--raw", `oci-archive:${join(folder, "zstd-layers.tar")}`)).config.digest,
    );
    const podman = new Podman(mkdtempSync(join(folder, "podman-")));
    expect(await podman.run("load", "--quiet", "-i", out)).toContain("localhost/app:1");
  });

  it("an export to standard output is the archive and nothing else", async () => {
    await images("import", join(folder, "oci.tar"), "localhost/app:1");
    const { stdout, status } = await shellCli(actor, "agentkernel images export localhost/app:1 - | tar -t", { env });
    expect(status).toBe(0);
    expect(stdout.split("\n")).toEqual(expect.arrayContaining(["oci-layout", "index.json"]));
  });

  it("a folder becomes an image of one layer, the same each time, and umoci unpacks it as it was", async () => {
    const tree = join(own, "tree");
    mkdirSync(join(tree, "etc"), { recursive: true });
    writeFileSync(join(tree, "etc", "motd"), "hello\n", { mode: 0o640 });
    symlinkSync("motd", join(tree, "etc", "link"));
    if (isRoot) for (const name of ["etc", "etc/motd", ""]) chownSync(join(tree, name), actor.uid, actor.gid);
    const first = await images("import", tree, "localhost/tree:1");
    const second = await images("import", tree, "localhost/tree:2");
    expect(second.digest).toBe(first.digest);
    const out = join(own, "out.tar");
    await images("export", "localhost/tree:1", out);
    copy(`oci-archive:${out}`, `oci:${join(own, "again")}:1`);
    tool(
      "umoci",
      "unpack",
      ...(isRoot ? [] : ["--rootless"]),
      "--image",
      `${join(own, "again")}:1`,
      join(own, "bundle"),
    );
    const unpacked = lstatSync(join(own, "bundle", "rootfs", "etc", "motd"));
    expect([unpacked.mode & 0o7777, unpacked.uid, unpacked.gid]).toEqual([0o640, actor.uid, actor.gid]);
    expect(readFileSync(join(own, "bundle", "rootfs", "etc", "link"), "utf8")).toBe("hello\n");
  });

  it("what is listed, removed and pruned is said, and room is freed", async () => {
    await images("import", join(folder, "oci.tar"), "localhost/app:1");
    await images("import", join(folder, "docker.tar"));
    const list = await runCli(actor, ["images", "list"], { env });
    expect(list.stdout).toMatch(/^NAME +TAG +DIGEST +PLATFORM +SIZE +UNPACKED +AGE +LAST USED +IN USE BY\n/);
    expect(list.stdout).toMatch(
      /^localhost\/app +1 +sha256:[0-9a-f]{12} +linux\/\w+ +[\d.]+ (?:Ki)?B +[\d.]+ (?:Ki)?B +\d+s +\d+s +-$/m,
    );
    const gone = await runCli(actor, ["images", "remove", "localhost/app:1"], { env });
    expect(gone.stdout).toMatch(/^removed localhost\/app:1\nfreed [\d.]+ (?:Ki)?B\n$/);
    expect((await runCli(actor, ["images", "list"], { env })).stdout).toMatch(/^no images/);
    expect((await runCli(actor, ["images", "remove", "localhost/app:1"], { env })).stderr).toMatch(/no image/);
    const stale = await runCli(actor, ["run", "--pull", "never", "--image", "localhost/app:1", "true"], { env });
    expect(stale, "a removed image does not run").toMatchObject({ status: 125 });
    await images("import", join(folder, "oci.tar"), "localhost/app:1");
    expect(await images("prune", "--older-than", "1h")).toMatchObject({ removed: [] });
    expect(await images("prune", "--all")).toMatchObject({
      removed: [{ reference: "localhost/app:1" }],
      total_bytes: 0,
    });
  });
});

describe.runIf(isRoot)("an engine on this machine", () => {
  const [actor] = actors;
  let podman: Podman;
  beforeAll(async () => {
    podman = new Podman(join(folder, "engine"));
    await podman.run("load", "--quiet", "-i", join(folder, "docker.tar"));
  });
  afterAll(() => podman.stop());

  const imported = async (source: string, env: Record<string, string>) => {
    if (actor === undefined) throw new Error("there is an actor");
    return await runCli(actor, ["images", "import", source, "--json"], {
      env: { XDG_DATA_HOME: actor.folder(), ...env },
    });
  };

  it("gives its image over its socket, by Docker's words and by Podman's", async () => {
    const socket = await podman.serve();
    for (const [source, variable] of [
      ["docker-daemon:localhost/app:1", "DOCKER_HOST"],
      ["podman:localhost/app:1", "CONTAINER_HOST"],
    ] as const) {
      const { stdout, status } = await imported(source, { [variable]: `unix://${socket}` });
      expect({ status, reference: JSON.parse(stdout).data.reference }).toEqual({
        status: 0,
        reference: "localhost/app:1",
      });
    }
    const none = await imported("docker-daemon:none:1", { DOCKER_HOST: `unix://${socket}` });
    expect(JSON.parse(none.stdout).error.code).toBe("image_not_found");
  });

  it("gives its image without a service too, where it is Podman", async () => {
    const env = { ...podman.env, XDG_RUNTIME_DIR: join(folder, "no-runtime") };
    const { stdout } = await imported("containers-storage:localhost/app:1", env);
    expect(JSON.parse(stdout)).toMatchObject({ success: true, data: { reference: "localhost/app:1" } });
    const none = await imported("podman:none:1", env);
    expect(JSON.parse(none.stdout).error.code).toBe("image_not_found");
  });

  it("that is not there, or elsewhere, is said to be", async () => {
    const gone = await imported("docker-daemon:x", { DOCKER_HOST: "unix:///nonexistent/docker.sock" });
    expect(JSON.parse(gone.stdout).error.message).toMatch(/cannot be asked \(ENOENT\)/);
    const far = await imported("docker-daemon:x", { DOCKER_HOST: "tcp://127.0.0.1:1" });
    expect(JSON.parse(far.stdout).error.code).toBe("unsupported");
  });
});
