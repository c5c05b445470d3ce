import { execFileSync } from "node:child_process";
import { chmodSync, chownSync, copyFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Actor, actors, user } from "../../support/actors.js";
import { chosenBackend } from "../../support/chosen-backend.js";
import { runIn } from "../../support/run-cli.js";
import { compile, own, projectWith, runOutside } from "../support/process-programs.js";

/** What root of a sandbox keeps: chown, dac_override, fowner, fsetid, kill, setgid, setuid, net_bind_service, sys_chroot, setfcap. */
const DEFAULT_SET = "00000000800404fb";
const NONE = "0000000000000000";
/** Of these two gVisor of Debian 12 has no lines; what they mean is tried as well. */
const isShown = chosenBackend?.name !== "gvisor";
/** cap_net_admin in the permitted set, effective from the start, as the kernel keeps it beside a file. */
const NET_ADMIN_FILE_CAPABILITY = "01000002001000000000000000000000000000000000";

interface Who {
  readonly euid: number;
  readonly sets: ReadonlyMap<string, string>;
  readonly asked: ReadonlyMap<string, number>;
  readonly ambient: readonly number[];
}

function who(stdout: string): Who {
  const all = (pattern: RegExp) => [...stdout.matchAll(pattern)];
  return {
    euid: Number(/^euid (\d+)/m.exec(stdout)?.[1] ?? Number.NaN),
    sets: new Map(all(/^(\w+):\t(\w+)$/gm).map((found): [string, string] => [found[1] ?? "", found[2] ?? ""])),
    asked: new Map(
      all(/^(capset|setuid) (\d+)$/gm).map((found): [string, number] => [found[1] ?? "", Number(found[2])]),
    ),
    ambient: all(/^ambient (\d+)$/gm).map((found) => Number(found[1])),
  };
}

/** A project with the program plain, setuid root, and with a file capability. Only root can make the last two. */
function armedProject(actor: Actor): string {
  const project = projectWith(actor, "process/identity");
  for (const name of ["suid", "fcap"]) {
    const path = join(project, name);
    copyFileSync(compile("process/identity"), path);
    chownSync(path, 0, 0);
    chmodSync(path, name === "suid" ? 0o6755 : 0o755);
    const set = "import os, sys; os.setxattr(sys.argv[1], 'security.capability', bytes.fromhex(sys.argv[2])[:20])";
    if (name === "fcap") execFileSync("python3", ["-c", set, path, NET_ADMIN_FILE_CAPABILITY]);
  }
  return project;
}

const isRootRun = process.getuid?.() === 0;

describe("P5 setuid programs, file capabilities and ambient capabilities", () => {
  // Making such a file needs root, whoever runs it then.
  it.runIf(isRootRun && user)("outside, an ordinary user gains by the first two", async () => {
    if (!user) return;
    const project = armedProject(user);
    expect(who((await runOutside(user, [join(project, "suid")])).stdout).euid).toBe(0);
    const capable = who((await runOutside(user, [join(project, "fcap")])).stdout);
    expect(capable.sets.get("CapEff")).toBe("0000000000001000");
    expect(who((await runOutside(user, [join(project, "identity")])).stdout).sets.get("CapEff")).toBe(NONE);
  });

  describe.each(actors)("as $name", (actor) => {
    it.runIf(isRootRun).each([
      ["copy", "--user", "1000:1000"],
      ["mount", "--user", "1000:1000"],
      ["copy", "--profile", "restrictive"],
    ])("inside, an ordinary user gains nothing (%s, %s %s)", async (workspace, option, value) => {
      const cwd = armedProject(actor);
      for (const program of ["./identity", "./suid", "./fcap"]) {
        const ran = await runIn(actor, ["--workspace", workspace, option, value, program], { cwd });
        const found = who(ran.stdout);
        expect(found.euid).toBe(1000);
        expect([found.sets.get("CapPrm"), found.sets.get("CapEff")]).toEqual([NONE, NONE]);
        const unshown = isShown ? [NONE, "1"] : [undefined, undefined];
        expect([found.sets.get("CapAmb"), found.sets.get("NoNewPrivs")]).toEqual(unshown);
        expect(found.ambient).toEqual([]);
        expect(found.asked.get("capset")).not.toBe(0);
        expect(found.asked.get("setuid")).not.toBe(0);
      }
    });

    it("root of the sandbox has the few capabilities that files and ids need, and cannot add any", async () => {
      const found = who((await runIn(actor, ["./identity"], { cwd: projectWith(actor, "process/identity") })).stdout);
      expect(found.euid).toBe(0);
      expect([found.sets.get("CapEff"), found.sets.get("CapBnd")]).toEqual([DEFAULT_SET, DEFAULT_SET]);
      expect([found.sets.get("CapInh"), found.sets.get("CapAmb")]).toEqual([NONE, NONE]);
      expect(found.asked.get("capset")).not.toBe(0);
      expect(found.ambient).toEqual([]);
    });

    it("restrictive is nobody special: uid 1000 and no capability, not even one to be gained", async () => {
      const cwd = projectWith(actor, "process/identity");
      const found = who((await runIn(actor, ["--profile", "restrictive", "./identity"], { cwd })).stdout);
      expect(found.euid).toBe(1000);
      for (const set of ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"]) expect(found.sets.get(set)).toBe(NONE);
    });

    it("a setuid file that root of the sandbox makes gives nothing back to a process that gave root up", async () => {
      const cwd = projectWith(actor, "process/identity");
      own(actor, cwd);
      const make =
        "cp identity /tmp/back && chmod 6755 /tmp/back && test -u /tmp/back -a -g /tmp/back && echo set && exec ./identity 1000 /tmp/back";
      const ran = await runIn(actor, ["sh", "-c", make], { cwd });
      expect(ran.stdout).toContain("set\n");
      if (actor.name === "user") {
        // Root of a user's sandbox has a single id and no second user to become.
        expect(ran.status).not.toBe(0);
        return;
      }
      expect(who(ran.stdout)).toMatchObject({ euid: 1000 });
      expect(who(ran.stdout).sets.get("CapEff")).toBe(NONE);
    });
  });
});
