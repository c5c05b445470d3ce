import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Actor, actors } from "../../support/actors.js";
import { chosenBackend } from "../../support/chosen-backend.js";
import { type Attempts, attackInside, attackOutside, successful } from "../support/fs-attack.js";
import { plant, snapshot } from "../support/fs-tree.js";

/** Tries to change the files of the folder that it is given. Each attempt has a victim of its own. */
const writeOutside = `
target = sys.argv[1]
def by_link(kind, victim):
    os.symlink(victim, "made-" + kind)
    return write("made-" + kind)
def by_hardlink():
    os.link(target + "/hardlink", "made-hardlink")
    return write("made-hardlink")
def by_rename():
    write("replacement")
    os.rename("replacement", target + "/rename")
def by_swap():
    os.makedirs("swap/inner")
    os.rmdir("swap/inner")
    os.symlink(target, "swap/inner")
    return write("swap/inner/swap")
above = "../" * 20
attempt("path", lambda: write(target + "/path"))
attempt("dots", lambda: write(above + target[1:] + "/dots"))
attempt("proc-root", lambda: write("/proc/self/root" + target + "/proc-root"))
attempt("proc-cwd", lambda: write("/proc/self/cwd/" + above + target[1:] + "/proc-cwd"))
attempt("planted-file-link", lambda: write("file-link"))
attempt("planted-folder-link", lambda: write("folder-link/folder-link"))
attempt("planted-relative-link", lambda: write("relative-link/relative-link"))
attempt("own-link", lambda: by_link("absolute", target + "/own-link"))
attempt("own-relative-link", lambda: by_link("relative", above + target[1:] + "/own-relative-link"))
attempt("own-proc-link", lambda: by_link("proc", "/proc/self/root" + target + "/own-proc-link"))
attempt("swap", by_swap)
attempt("hardlink", by_hardlink)
attempt("rename", by_rename)
attempt("truncate", lambda: os.truncate(target + "/truncate", 0))
attempt("unlink", lambda: os.unlink(target + "/unlink"))
attempt("create", lambda: write(target + "/created"))
attempt("chmod", lambda: os.chmod(target + "/chmod", 0o777))
attempt("time", lambda: os.utime(target + "/time", (1, 1)))
`;

const victims = [
  "path",
  "dots",
  "proc-root",
  "proc-cwd",
  "file-link",
  "folder-link",
  "relative-link",
  "own-link",
  "own-relative-link",
  "own-proc-link",
  "swap",
  "hardlink",
  "rename",
  "truncate",
  "unlink",
  "chmod",
  "time",
];

function plantVictims(actor: Actor): string {
  return plant(actor, actor.folder("victims"), Object.fromEntries(victims.map((name) => [name, "original"])));
}

function plantProject(actor: Actor, target: string): string {
  return plant(actor, actor.folder(), {
    "file-link": `-> ${target}/file-link`,
    "folder-link": `-> ${target}`,
    "relative-link": `-> ${"../".repeat(20)}${target.slice(1)}`,
    ordinary: "the project's own",
  });
}

/** Only opens: where it works, nothing of the machine is changed. */
const openSwitches = `
switches = ["/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sys/kernel/hostname",
    "/proc/sys/vm/drop_caches", "/proc/sys/net/ipv4/ip_forward", "/proc/sysrq-trigger", "/proc/1/oom_score_adj",
    "/sys/kernel/uevent_helper", "/sys/kernel/mm/transparent_hugepage/enabled", "/sys/power/state",
    "/sys/fs/cgroup/release_agent", "/sys/fs/cgroup/memory/release_agent", "/sys/fs/cgroup/cgroup.procs",
    "/dev/mem", "/dev/kmsg", "/dev/sda", "/dev/vda", "/dev/loop0", "/dev/loop-control", "/dev/fuse", "/dev/kvm"]
for path in switches:
    if path == "/proc/1/oom_score_adj" and len(sys.argv) > 1:
        continue
    attempt(path, lambda: os.close(os.open(path, os.O_WRONLY)))
attempt("sys", lambda: sorted(os.listdir("/sys")))
`;

const deviceNodes = `
def node(kind, path):
    os.mknod(path, kind | 0o666, os.makedev(1, 8) if kind == stat.S_IFCHR else os.makedev(7, 0))
    os.close(os.open(path, os.O_RDWR))
for place in sys.argv[1:]:
    attempt("character in " + place, lambda: node(stat.S_IFCHR, place + "/random-node"))
    attempt("block in " + place, lambda: node(stat.S_IFBLK, place + "/disk-node"))
`;

describe("F2 nothing outside the workspace can be written", () => {
  describe.each(actors)("as $name", (actor) => {
    it("the attack changes everything where there is no sandbox", async () => {
      const target = plantVictims(actor);
      const attempts = await attackOutside(actor, {
        source: writeOutside,
        args: [target],
        cwd: plantProject(actor, target),
      });
      expect(failed(attempts)).toEqual([]);
      expect(readFileSync(join(target, "hardlink"), "utf8")).toBe("attacked");
    });

    it.each([
      ["copy"],
      ["sync"],
      ["mount"],
      ["none"],
      ["copy", "-p", "restrictive"],
      ["mount", "-p", "restrictive"],
      ["mount", "-p", "permissive"],
    ])("with the workspace as %s %s %s", async (form, ...more) => {
      const target = plantVictims(actor);
      const before = snapshot(target);
      const cwd = plantProject(actor, target);
      const flags = ["--workspace", form, ...more];
      await attackInside(actor, { source: writeOutside, args: [target], cwd, flags });
      expect(snapshot(target)).toEqual(before);
    });

    it("through a writable mount only what is mounted changes", async () => {
      const target = plantVictims(actor);
      const mounted = plantProject(actor, target);
      const before = snapshot(target);
      const flags = ["-v", `${mounted}:/data`, "-w", "/data"];
      await attackInside(actor, { source: writeOutside, args: [target], cwd: actor.folder(), flags });
      expect(snapshot(target)).toEqual(before);
      const inside = await attackInside(actor, {
        source: `attempt("ordinary", lambda: write("/data/ordinary"))`,
        cwd: actor.folder(),
        flags,
      });
      expect(inside).toEqual({ ordinary: { ok: "written" } });
      expect(readFileSync(join(mounted, "ordinary"), "utf8")).toBe("attacked");
    });

    it.each([["moderate"], ["permissive"], ["restrictive"]])(
      "a read-only mount stays as it is, under %s",
      async (profile) => {
        const mounted = plantVictims(actor);
        const before = snapshot(mounted);
        const flags = ["-p", profile, "-v", `${mounted}:/data:ro`];
        const cwd = plantProject(actor, "/data");
        const attempts = await attackInside(actor, { source: writeOutside, args: ["/data"], cwd, flags });
        expect(snapshot(mounted)).toEqual(before);
        // gVisor's kernel answers some calls with success that it does not make.
        const unmade = chosenBackend?.name === "gvisor" ? ["chmod", "time", "truncate"] : [];
        expect(successful(attempts).filter((name) => !unmade.includes(name))).toEqual([]);
      },
    );

    it.each(["moderate", "permissive", "restrictive"])(
      "nor the kernel's switches and devices, under %s",
      async (profile) => {
        const cwd = actor.folder();
        const outside = await attackOutside(actor, { source: openSwitches, args: ["outside"], cwd });
        // Root shows that the switches can be opened; for a user the kernel refuses most of them already.
        if (actor.name === "root") expect(successful(outside)).toContain("/proc/sys/kernel/core_pattern");
        const inside = await attackInside(actor, { source: openSwitches, cwd, flags: ["-p", profile] });
        // The sandbox's own first process; that is a limit of the sandbox and not of the host.
        const { sys, "/proc/1/oom_score_adj": _own, ...switches } = inside;
        expect(["[]", "['devices', 'fs']"]).toContain(sys?.ok);
        expect(successful(switches)).toEqual([]);
      },
    );

    it.each(["copy", "sync", "mount", "none"])("nor made as a device node, with the workspace as %s", async (form) => {
      const cwd = actor.folder();
      // Only root can show that it works: the kernel lets no other user make devices.
      if (actor.name === "root") {
        const outside = await attackOutside(actor, { source: deviceNodes, args: ["."], cwd: actor.folder() });
        expect(outside["character in ."]).toEqual({ ok: "None" });
      }
      const args = [".", "/tmp", "/dev", "/dev/shm"];
      const inside = await attackInside(actor, { source: deviceNodes, args, cwd, flags: ["--workspace", form] });
      expect(successful(inside)).toEqual([]);
      expect(Object.keys(inside)).toHaveLength(8);
      expect(snapshot(cwd)).toEqual({});
    });
  });
});

function failed(attempts: Attempts): readonly string[] {
  return Object.keys(attempts).filter((name) => attempts[name]?.ok === undefined);
}
