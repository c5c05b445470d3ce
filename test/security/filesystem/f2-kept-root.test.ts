/**
 * What a sandbox left in its own kept root, and what lies on the host's disk of it. At the next start everything that
 * we write or mount there meets what the sandbox has put in its way.
 */
import { lstatSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { adoptPersistent, inStateFolder, startPersistent } from "../../contract/suite/kept-subject.js";
import { bootSpec } from "../../contract/suite/subject.js";
import { actors, root } from "../../support/actors.js";
import { backendOf } from "../../support/backend-of.js";
import { contentOf, makeProject } from "../../support/project.js";

/** Each name is replaced by a link to a folder of the host's, as far as it can be moved away. */
const replaceByLinks = (target: string) => `
for name in etc var home opt run root srv; do mv /$name /moved-$name 2>/dev/null; ln -s ${target} /$name; done
for name in dev proc sys tmp usr workspace; do mv /$name /moved-$name 2>/dev/null && ln -s ${target} /$name; done
mkdir -p /moved-etc; ls -l / | grep -c '${target}'
`;

describe.each(actors)("F2 links in a kept root, at the next start, as $name", (actor) => {
  const { kept } = backendOf(actor);
  if (kept === undefined) throw new Error("the backend keeps sandboxes");

  it("lead nothing of ours to the host's files", async () => {
    const target = makeProject(actor, { passwd: "the host's\n", "agentkernel/ca.pem": "the host's\n" }).path;
    // The attack works where links are followed: so a careless writer would reach the file.
    writeFileSync(join(target, "probe"), "reached");
    const before = contentOf(target);
    const folder = actor.ownFolder("state");
    await inStateFolder(kept, folder, async () => {
      const first = await startPersistent(kept, bootSpec({}), folder);
      const made = await first.sh(replaceByLinks(target));
      expect(Number(made.stdout)).toBeGreaterThan(3);
      await first.sandbox.kill();
      const trustedCertificate = "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n";
      const second = await startPersistent(kept, { ...bootSpec({}), trustedCertificate }, folder);
      expect(contentOf(target)).toEqual(before);
      const seen = await second.sh(
        `test ! -e ${target}/probe && cat /etc/agentkernel/ca.pem && test -d /proc/1 && test -c /dev/null`,
      );
      expect(seen).toMatchObject({ stdout: trustedCertificate, code: 0 });
    });
    expect(contentOf(target)).toEqual(before);
  });

  it("a hidden file of the project stays hidden after a restart, whatever was made in its place", async () => {
    const project = makeProject(actor, { ".env": "SECRET=1\n", "sub/.env": "SECRET=2\n", "a.txt": "a\n" });
    const folder = actor.ownFolder("state");
    await inStateFolder(kept, folder, async () => {
      const spec = bootSpec({ projectDir: project.path });
      const first = await startPersistent(kept, spec, folder);
      await first.sh("mv sub other; mkdir sub; touch .env; rm .env; cat other/.env", { cwd: "/workspace" });
      await first.sandbox.kill();
      const second = await startPersistent(kept, spec, folder);
      const found = await second.sh("grep -r SECRET / --include=.env --exclude-dir=proc 2>/dev/null; ls -a", {
        cwd: "/workspace",
      });
      expect(found.stdout).not.toMatch(/SECRET/);
      expect(found.stdout).toMatch(/other/);
    });
  });
});

describe.runIf(root !== undefined)("F2 owners of what a kept sandbox of root writes", () => {
  it("are the sandbox's own ids on disk, in a folder that only root may enter, and the same at every start", async () => {
    if (root === undefined) return;
    const { kept } = backendOf(root);
    if (kept === undefined) throw new Error("the backend keeps sandboxes");
    const folder = root.ownFolder("state");
    await inStateFolder(kept, folder, async () => {
      const first = await startPersistent(kept, bootSpec({}), folder);
      await first.sh("touch /opt/mine; chmod 4755 /opt/mine; touch /opt/theirs; chown 1234:5678 /opt/theirs");
      await first.sandbox.kill();
      const disk = join(folder, "disk");
      expect(lstatSync(disk).mode & 0o777).toBe(0o700);
      const on = (name: string) => lstatSync(join(disk, "iu", "opt", name));
      expect([on("mine").uid, on("theirs").uid, on("theirs").gid]).toEqual([0, 1234, 5678]);
      // Another sandbox takes the next range of ids meanwhile, so that this one gets a different one.
      const second = await startPersistent(kept, bootSpec({}), folder);
      expect((await second.sh("stat -c '%u:%g' /opt/mine /opt/theirs")).stdout).toBe("0:0\n1234:5678\n");
    });
    expect(readdirSync(join(folder, ".."))).not.toContain(folder.split("/").at(-1));
  });
});

describe.each(actors)("F5 the state folder, as $name", (actor) => {
  it("is not accepted if others may enter it", async () => {
    const { kept } = backendOf(actor);
    const open = join(actor.ownFolder("open"), "state");
    mkdirSync(open, { mode: 0o755 });
    await expect(kept?.start(bootSpec({}), open)).rejects.toMatchObject({ message: expect.stringMatching(/0700/) });
  });

  it("nothing of it but the disk is seen inside, and no command can reach the supervisor", async () => {
    const { kept } = backendOf(actor);
    if (kept === undefined) throw new Error("the backend keeps sandboxes");
    const folder = actor.ownFolder("state");
    await inStateFolder(kept, folder, async () => {
      const owned = await startPersistent(kept, bootSpec({}), folder);
      const seen = await owned.sh(
        `ls -l /proc/self/fd | grep -c socket; ls ${folder} 2>&1; cat /proc/self/mountinfo | grep -c ${folder}; find / -xdev -name control 2>/dev/null`,
      );
      expect(seen.stdout).toBe(`0\nls: cannot access '${folder}': No such file or directory\n0\n`);
      await adoptPersistent(kept, folder);
    });
  });
});
