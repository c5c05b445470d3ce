/** A host that has run out: of disk, of descriptors, of places that can be written. */
import { execFileSync } from "node:child_process";
import { chownSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { actors, root } from "../support/actors.js";
import { expectComplaint } from "../support/complaint.js";
import { leavesNothingBehind } from "../support/nothing-left.js";
import { makeProject } from "../support/project.js";
import { runIn } from "../support/run-cli.js";
import { shellCli } from "../support/shell-cli.js";

describe.each(actors)("as $name", (actor) => {
  leavesNothingBehind();

  // Only root can mount the small disk; whoever runs the sandbox on it is the actor.
  it.skipIf(root === undefined)("a project on a full disk: told by name, and no half file is left", async () => {
    const disk = actor.folder("disk");
    execFileSync("mount", ["-t", "tmpfs", "-o", `size=512k,uid=${actor.uid},gid=${actor.gid},mode=755`, "none", disk]);
    try {
      const big = join(disk, "big");
      writeFileSync(big, "as it was\n");
      chownSync(big, actor.uid, actor.gid);
      const script = "echo carried > a; head -c 2000000 /dev/zero | tr '\\0' x > big";
      const { status, stderr } = await runIn(actor, ["--workspace", "sync", "sh", "-c", script], { cwd: disk });
      expect(status).toBe(125);
      expectComplaint(stderr, /big could not be carried over: .*No space left on device/);
      expect(readdirSync(disk).sort()).toEqual(["a", "big"]);
      expect(readFileSync(big, "utf8")).toBe("as it was\n");
    } finally {
      execFileSync("umount", [disk]);
    }
  });

  it("no descriptors left: one sentence, and nothing is left behind", async () => {
    // Enough for Node itself, not enough to start a jail.
    const { status, stderr } = await shellCli(actor, "ulimit -n 22; agentkernel run --no-network true");
    expect(status).toBe(125);
    expectComplaint(stderr, /could not be started: .*EMFILE/, /ulimit -n/);
  });

  it("a live mount without a place for its journal is refused before anything is made", async () => {
    const project = makeProject(actor, { "a.txt": "a\n" });
    const options = { cwd: project.path, env: { XDG_STATE_HOME: "/proc/nowhere" } };
    const { status, stderr } = await runIn(actor, ["--workspace", "mount", "true"], options);
    expect(status).toBe(125);
    expectComplaint(stderr, /\/proc\/nowhere\/agentkernel\/journal cannot be written/, /XDG_STATE_HOME/);
    expect(project.content()).toEqual({ "a.txt": "a\n" });
    expect(await runIn(actor, ["true"], options)).toMatchObject({ status: 0 });
  });

  it("no user namespaces left: said, with what to do, and nothing is left behind", async () => {
    const line = [
      `unshare --user --mount --map-root-user sh -c 'echo 0 > /proc/sys/user/max_user_namespaces; "$@"' sh`,
      `'${process.execPath}' '${join(actor.dist, "agentkernel.js")}' run --no-network true`,
    ].join(" ");
    const { status, stderr } = await shellCli(actor, line, { cwd: actor.folder() });
    expect(status).toBe(125);
    expectComplaint(stderr, /does not let us make the sandbox's namespaces/, /user\.max_user_namespaces/);
  });
});
