/** The install script on machines that are not as new: others' files at our places, links, rights, and their removal. */
import { spawnSync } from "node:child_process";
import { chmodSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { version } from "../../src/core/version.js";
import { Installer } from "../support/installer.js";
import { leavesNothingBehind } from "../support/nothing-left.js";
import { releaseOf } from "../support/releases.js";

/** Each starts dozens of processes, on machines that may be busy. */
vi.setConfig({ testTimeout: 180_000 });

let current = "";
beforeAll(async () => {
  current = await releaseOf();
}, 240_000);

async function prepared(script: string): Promise<Installer> {
  const installer = new Installer();
  expect(await installer.run(["/bin/sh", "-euc", script])).toMatchObject({ status: 0, stderr: "" });
  return installer;
}

describe("the install script beside what others have", () => {
  leavesNothingBehind();

  it.each([
    ["a program of the same name", "mkdir -p .local/bin; cp /bin/true .local/bin/agentkernel"],
    ["a link of that name that leads nowhere", "mkdir -p .local/bin; ln -s /nowhere .local/bin/agentkernel"],
    [
      "a link of that name to another installation",
      "mkdir -p .local/bin; ln -s /opt/lib/agentkernel/current/dist/native/ak-client .local/bin/agentkernel",
    ],
    [
      "somebody's folder where ours would be",
      "mkdir -p .local/lib/agentkernel; echo mine >.local/lib/agentkernel/notes",
    ],
    ["a link where our folder would be", "mkdir -p mine .local/lib; ln -s ../../mine .local/lib/agentkernel"],
  ])("leaves %s alone", async (_, script) => {
    const installer = await prepared(script);
    const before = installer.files();
    const refused = await installer.install(current);
    expect(refused.status).toBe(1);
    expect(refused.stderr).toMatch(/ is there and not from this script\n {2}hint: .*choose another --prefix\n$/);
    expect((await installer.install(current, "--uninstall", "--purge", "--force")).status).toBe(0);
    expect(installer.files()).toEqual(before);
  });

  it("works through links to folders elsewhere, leaves pages of others alone, and takes only what it made", async () => {
    const installer = await prepared(
      `mkdir -p real/bin real/man/man1 dotted/local/share; ln -s dotted/local .local
       ln -s "$HOME/real/bin" .local/bin; ln -s "$HOME/real/man" .local/share/man
       ln -s /nowhere real/man/man1/agentkernel.1`,
    );
    const before = installer.files();
    const done = await installer.install(current, "--prefix", ".local//");
    expect(done).toMatchObject({ status: 0, stderr: "" });
    expect(done.stdout).toContain("/share/man/man1/agentkernel.1 is not from this script\n");
    expect((await installer.run([join(installer.home, "real/bin/agentkernel"), "--version"])).stdout).toBe(
      `agentkernel ${version}\n`,
    );
    expect(readFileSync(join(installer.home, "real/man/man1/agentkernel-run.1"), "utf8")).toMatch(/^\.TH/);
    expect((await installer.install(current)).stdout).toContain(
      `${version} is here already, as the release signed it\n`,
    );
    const kept = join(installer.home, ".local/lib/agentkernel/install.sh");
    expect((await installer.run(["/bin/sh", kept, "--uninstall", "--purge"])).status).toBe(0);
    expect(installer.files()).toEqual(before);
    expect(readlinkSync(join(installer.home, "real/man/man1/agentkernel.1"))).toBe("/nowhere");
  });

  it("says what to do where it may not write", async () => {
    const installer = new Installer();
    chmodSync(installer.home, 0o500);
    const refused = await installer.install(current);
    expect(refused.status).toBe(1);
    expect(refused.stderr).toContain(
      "/.local cannot be made\n  hint: choose a folder that you may write: --prefix DIR",
    );
    chmodSync(installer.home, 0o700);
    expect(installer.files()).toEqual([]);
  });

  it.skipIf(process.getuid?.() !== 0)("as root does not fill the home folder of a user", async () => {
    const installer = new Installer();
    const env = { PATH: "/usr/local/bin:/usr/bin:/bin", HOME: installer.home };
    const asRoot = spawnSync("/bin/sh", [join(current, "install.sh"), "--from", current], { env, encoding: "utf8" });
    expect(asRoot.status).toBe(1);
    expect(asRoot.stderr).toContain(`${installer.home} belongs to another user\n  hint: run this as that user`);
    expect(installer.files()).toEqual([]);
  });

  it("knows its own prefix, warns of another one in PATH, and goes without Node when it is forced to", async () => {
    const other = await prepared("mkdir other; cp /bin/true other/agentkernel");
    const prefix = join(other.home, "apps");
    const path = { PATH: `${other.home}/other:/usr/local/bin:/usr/bin:/bin` };
    const script = readFileSync(join(current, "install.sh"), "utf8");
    const done = await other.run(["/bin/sh", "-s", "--", "--from", current, "--prefix", prefix], script, path);
    expect(done.stdout).toContain(`another one comes first in PATH: ${other.home}/other/agentkernel\n`);
    const uninstall = ["/bin/sh", join(prefix, "lib/agentkernel/install.sh"), "--uninstall"];
    const withoutNode = { AGENTKERNEL_NODE: "/nowhere/node" };
    const refused = await other.run(uninstall, "", withoutNode);
    expect(refused.status).toBe(1);
    expect(refused.stderr).toContain("--force removes the program all the same");
    expect(readdirSync(join(prefix, "bin"))).toEqual(["agentkernel"]);
    expect((await other.run([...uninstall, "--force"], "", withoutNode)).status).toBe(0);
    expect(other.files()).toEqual(["other", "other/agentkernel"]);
  });
});
