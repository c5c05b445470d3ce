/** The install script, from a server on loopback: what it puts where, what it refuses, upgrades and removal. */
import { createPrivateKey, sign } from "node:crypto";
import { appendFileSync, chmodSync, cpSync, mkdirSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { version } from "../../src/core/version.js";
import { Installer, ordinaryUser } from "../support/installer.js";
import { leavesNothingBehind } from "../support/nothing-left.js";
import { type OnTheWay, ReleaseServer } from "../support/release-server.js";
import { PREVIOUS_VERSION, releaseKey, releaseOf } from "../support/releases.js";

const archive = `agentkernel-${version}-linux-${process.arch}.tar.gz`;

/** Each starts dozens of processes, on machines that may be busy. */
vi.setConfig({ testTimeout: 180_000 });

let current = "";
beforeAll(async () => {
  current = await releaseOf();
}, 240_000);

const servers: ReleaseServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop();
});

async function served(folder: string, onTheWay?: OnTheWay): Promise<ReleaseServer> {
  const server = await ReleaseServer.start(folder, onTheWay);
  servers.push(server);
  return server;
}

describe("the install script", () => {
  leavesNothingBehind();

  it("installs without root, says what it did, leads to the first sandbox, and does nothing twice", async () => {
    const { url } = await served(current);
    const installer = new Installer();
    const startedMs = performance.now();
    const done = await installer.install(url);
    expect(done).toMatchObject({ status: 0, stderr: "" });
    expect(done.stdout).toContain(
      `${version} verified and put into ${installer.home}/.local/lib/agentkernel/versions/`,
    );
    const [, line = ""] = /start-up file: (export PATH=.*)/.exec(done.stdout) ?? [];
    const found = await installer.run(["/bin/sh", "-c", `${line}; command -v agentkernel`]);
    expect(found.stdout).toBe(`${installer.own}\n`);
    const first = await installer.run([installer.own, "run", "--no-network", "echo", "hello"]);
    expect(performance.now() - startedMs).toBeLessThan(60_000);
    expect(first).toMatchObject({ status: 0, stdout: "hello\n" });
    expect(readlinkSync(installer.own)).toBe("../lib/agentkernel/current/dist/native/ak-client");
    const share = join(installer.home, ".local/share");
    expect(readFileSync(join(share, "man/man1/agentkernel-run.1"), "utf8")).toMatch(/^\.TH "AGENTKERNEL\\-RUN" 1/);
    expect(readFileSync(join(share, "bash-completion/completions/agentkernel"), "utf8")).toContain("agentkernel");
    await installer.run([installer.own, "daemon", "stop"]);

    const before = installer.files();
    const base = join(installer.home, ".local/lib/agentkernel");
    await installer.run(["mkdir", join(base, `.work.${process.pid}.other`)]);
    expect((await installer.install(url)).stderr).toContain(`is at work there, process ${process.pid}\n  hint: wait`);
    // Numbers of processes are never that high.
    await installer.run(["mv", join(base, `.work.${process.pid}.other`), join(base, ".work.4194305.killed")]);
    const again = await installer.install(url);
    expect(again.stdout).toContain(`${version} is here already, as the release signed it`);
    expect(installer.files()).toEqual(before);
    const removed = await installer.install(url, "--uninstall", "--purge");
    expect(removed).toMatchObject({ status: 0 });
    expect(installer.files()).toEqual([]);
    expect((await installer.install(url, "--uninstall")).stdout).toContain("nothing is installed below");
  }, 120_000);

  const flip: OnTheWay = (name, bytes) => {
    const changed = Buffer.from(bytes);
    if (name === archive) changed.writeUInt8(changed.readUInt8(5000) ^ 1, 5000);
    return changed;
  };
  const cut =
    (which: string): OnTheWay =>
    (name, bytes) =>
      name === which ? bytes.subarray(0, Math.floor(bytes.length / 2)) : bytes;
  const otherDigest: OnTheWay = (name, bytes) =>
    name === "SHA256SUMS" ? Buffer.from(String(bytes).replace(/^[0-9a-f]{8}/gm, "00000000")) : bytes;

  it.each([
    ["an archive in which one bit differs", flip, "is not the file that the release signed"],
    ["an archive that was cut short", cut(archive), "is not the file that the release signed"],
    ["a list with other digests", otherDigest, "is not signed by the release key"],
    ["a list that was cut short", cut("SHA256SUMS"), "is not signed by the release key"],
    ["a signature that was cut short", cut("SHA256SUMS.sig"), "is not signed by the release key"],
    ["a script that differs from the listed one", cut("install.sh"), "is not the file that the release signed"],
  ] as const)("refuses %s, and leaves nothing", async (_, onTheWay, why) => {
    const { url } = await served(current, onTheWay);
    const installer = new Installer();
    const refused = await installer.install(url);
    expect(refused.status).toBe(1);
    expect(refused.stderr).toContain(why);
    expect(installer.files()).toEqual([]);
  });

  it("refuses what breaks off on the way, and leaves nothing", async () => {
    const { url } = await served(current, (name, bytes) => (name === archive ? null : bytes));
    const installer = new Installer();
    const refused = await installer.install(url);
    expect(refused.status).toBe(1);
    expect(refused.stderr).toContain(`${url}/${archive} cannot be had\n  hint: `);
    expect(installer.files()).toEqual([]);
  });

  it("refuses a whole release that somebody else has signed", async () => {
    const foreign = join(ordinaryUser.folder("foreign"), "release");
    cpSync(current, foreign, { recursive: true });
    const key = createPrivateKey(readFileSync(releaseKey("somebody-else")));
    const signature = sign(null, readFileSync(join(foreign, "SHA256SUMS")), key);
    writeFileSync(join(foreign, "SHA256SUMS.sig"), `${signature.toString("base64")}\n`);
    const { url } = await served(foreign);
    const installer = new Installer();
    const refused = await installer.install(url);
    expect(refused.status).toBe(1);
    expect(refused.stderr).toContain("is not signed by the release key: nothing was installed");
    expect(installer.files()).toEqual([]);
  }, 120_000);

  it("does nothing where it was itself cut short on the way", async () => {
    const script = readFileSync(join(current, "install.sh"), "utf8");
    const { url } = await served(current);
    for (const share of [0.3, 0.6, 0.9, 0.995]) {
      const installer = new Installer();
      await installer.run(["/bin/sh", "-s", "--", "--from", url], script.slice(0, Math.floor(script.length * share)));
      expect(installer.files()).toEqual([]);
    }
  });

  it("keeps what is there when an upgrade is refused, and is not led back to an older release", async () => {
    const previous = await releaseOf(PREVIOUS_VERSION);
    const installer = new Installer();
    expect((await installer.install(previous)).status).toBe(0);
    const broken = await served(current, flip);
    expect((await installer.install(broken.url)).status).toBe(1);
    expect((await installer.run([installer.own, "--version"])).stdout).toBe(`agentkernel ${PREVIOUS_VERSION}\n`);
    expect((await installer.install(current)).status).toBe(0);
    const back = await installer.install(previous);
    expect(back.stderr).toContain(`version ${PREVIOUS_VERSION} is older than ${version}, which is installed`);
    expect((await installer.install(previous, "--allow-downgrade")).status).toBe(0);
    expect((await installer.run([installer.own, "--version"])).stdout).toBe(`agentkernel ${PREVIOUS_VERSION}\n`);
  }, 240_000);

  it("hands running sandboxes over in an upgrade, and an uninstall keeps what was made unless told", async () => {
    const previous = await releaseOf(PREVIOUS_VERSION);
    const installer = new Installer();
    await installer.install(previous);
    expect((await installer.run([installer.own, "create", "box", "--no-network"])).status).toBe(0);
    await installer.run([installer.own, "start", "box"]);
    await installer.run([installer.own, "exec", "box", "--", "sh", "-c", "echo kept > /root/note"]);
    const upgraded = await installer.install(current);
    expect(upgraded.stdout).toContain("the daemon was handed over to this version; sandboxes go on\n");
    expect(upgraded.stdout).toContain(`${PREVIOUS_VERSION} removed\n`);
    const read = await installer.run([installer.own, "exec", "box", "--", "cat", "/root/note"]);
    expect(read).toMatchObject({ status: 0, stdout: "kept\n" });
    const service = await installer.run([installer.own, "setup", "--service", "daemon", "--yes"]);
    expect(service.stdout).toMatch(/^\+ExecStart=.*\/\.local\/lib\/agentkernel\/current\/dist\/agentkernel\.js"/m);

    const kept = await installer.run([
      "/bin/sh",
      join(installer.home, ".local/lib/agentkernel/install.sh"),
      "--uninstall",
    ]);
    expect(kept).toMatchObject({ status: 0 });
    expect(installer.files()).toContain(".local/state/agentkernel/sandboxes/box/sandbox.json");
    expect(
      installer.files().filter((path) => /lib\/agentkernel|bin\/agentkernel|systemd\/user\/.+/.test(path)),
    ).toEqual([]);

    await installer.install(current);
    const again = await installer.run([installer.own, "start", "box"]);
    expect(again).toMatchObject({ status: 0 });
    expect((await installer.install(current, "--uninstall", "--purge")).status).toBe(0);
    expect(installer.files().filter((path) => path.includes("agentkernel"))).toEqual([]);
  }, 240_000);

  it("does without curl and wget, and says what to do without Node", async () => {
    const tools = ["cat", "cp", "find", "gzip", "head", "ln", "mkdir", "mktemp", "mv", "readlink", "rm", "rmdir"];
    const folder = ordinaryUser.folder("tools");
    for (const tool of [...tools, "sed", "sort", "tar", "uname"]) linkTo(folder, tool);
    const { url } = await served(current);
    const bare = new Installer(folder);
    const lacking = await bare.install(url);
    expect(lacking.stderr).toContain("Node.js is not here\n  hint: install Node.js 20.16 or newer");
    writeFileSync(join(folder, "node"), "#!/bin/sh\n[ $1 = --version ] && echo v18.0.0\nexit 1\n");
    chmodSync(join(folder, "node"), 0o755);
    expect((await bare.install(url)).stderr).toContain("Node.js v18.0.0 is too old");
    writeFileSync(join(folder, "node"), `#!/bin/sh\nexec ${process.execPath} "$@"\n`);
    expect(await bare.install(url)).toMatchObject({ status: 0, stderr: "" });
    expect((await bare.run([bare.own, "--version"])).stdout).toBe(`agentkernel ${version}\n`);
  });

  it("what was changed after the installation is found by its digest", async () => {
    const installer = new Installer();
    await installer.install(current);
    const program = join(installer.home, ".local/lib/agentkernel/current/dist/native/ak-unpack");
    appendFileSync(program, "x");
    const refused = await installer.run([installer.own, "setup", "--print"]);
    expect(refused.status).toBe(125);
    expect(refused.stderr).toContain("not as it was released: ");
    expect(refused.stderr).toContain("dist/native/ak-unpack\n  hint: install agentkernel again");
    expect((await installer.install(current)).stdout).toContain(`${version} verified and put into`);
    expect((await installer.run([installer.own, "setup", "--print"])).stdout).toContain("all with the digests of");
  });

  it("on a machine without user namespaces, the first sandbox says what to do", async () => {
    const installer = new Installer();
    await installer.install(current);
    // A user namespace in which no further one can be made; the machine itself stays as it is.
    const off = 'echo 0 >/proc/sys/user/max_user_namespaces && exec "$@"';
    const without = (...words: readonly string[]) =>
      installer.run(["unshare", "--user", "--map-root-user", "sh", "-c", off, "sh", installer.own, ...words]);
    const ran = await without("run", "true");
    expect(ran.status).toBe(125);
    expect(ran.stderr).toContain("hint: user namespaces are off: sudo sysctl user.max_user_namespaces=15000");
    const shown = await without("setup", "--print");
    expect(shown.status).toBe(125);
    expect(shown.stdout).toContain("no backend can run sandboxes here yet");
    expect(shown.stdout.match(/^ {4}sysctl -w user\.max_user_namespaces=15000$/gm)).toHaveLength(1);
  });
});

function linkTo(folder: string, tool: string): void {
  mkdirSync(folder, { recursive: true });
  const place = ["/usr/bin", "/bin"].map((at) => join(at, tool)).find((path) => readlinkOrFile(path));
  writeFileSync(join(folder, tool), `#!/bin/sh\nexec ${place} "$@"\n`);
  chmodSync(join(folder, tool), 0o755);
}

function readlinkOrFile(path: string): boolean {
  try {
    readFileSync(path);
    return true;
  } catch {
    return false;
  }
}
