import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { actors } from "../../support/actors.js";
import { attackInside, attackOutside, successful } from "../support/fs-attack.js";
import { plant, snapshot } from "../support/fs-tree.js";

/** Every way to a writable mount where a read-only one is, each followed by a write. */
const makeWritable = `
MS_RDONLY, MS_REMOUNT, MS_BIND, MS_PRIVATE, MS_REC = 1, 32, 4096, 1 << 18, 16384
MOUNT, UMOUNT2, PIVOT_ROOT, UNSHARE, CHROOT, SETNS = (165, 166, 155, 272, 161, 308) if x86 else (40, 39, 41, 97, 51, 268)
OPEN_TREE, MOVE_MOUNT, FSOPEN, FSCONFIG, FSMOUNT, FSPICK, MOUNT_SETATTR, OPEN_TREE_ATTR = 428, 429, 430, 431, 432, 433, 442, 467
AT_RECURSIVE, CLONE_TREE, EMPTY_PATH = 0x8000, 1, 0x1000
writable = struct.pack("QQQQ", 0, 1, 0, 0)
def try_write(target):
    return write(os.path.join(target, "planted"))
def remount(target, flags):
    call(MOUNT, b"none", target.encode(), 0, MS_REMOUNT | flags, 0)
    return try_write(target)
def setattr(target, flags):
    call(MOUNT_SETATTR, -100, target.encode(), flags, writable, len(writable))
    return try_write(target)
def reconfigure(target):
    fd = call(FSPICK, -100, target.encode(), 0)
    call(FSCONFIG, fd, 0, b"rw", 0, 0)
    call(FSCONFIG, fd, 7, 0, 0, 0)
    return try_write(target)
def clone_tree(target):
    fd = call(OPEN_TREE, -100, target.encode(), CLONE_TREE | 0o2000000)
    call(MOUNT_SETATTR, fd, b"", EMPTY_PATH, writable, len(writable))
    return write(f"/proc/self/fd/{fd}/planted")
def clone_tree_at_once(target):
    fd = call(OPEN_TREE_ATTR, -100, target.encode(), CLONE_TREE, writable, len(writable))
    return write(f"/proc/self/fd/{fd}/planted")
def cover(target):
    fd = call(FSOPEN, b"tmpfs", 0)
    call(FSCONFIG, fd, 6, 0, 0, 0)
    tree = call(FSMOUNT, fd, 0, 0)
    call(MOVE_MOUNT, tree, b"", -100, target.encode(), 4)
    return try_write(target)
def bind_elsewhere(target):
    os.makedirs("/tmp/elsewhere", exist_ok=True)
    call(MOUNT, target.encode(), b"/tmp/elsewhere", 0, MS_BIND, 0)
    return remount("/tmp/elsewhere", MS_BIND)
def unmount(target):
    call(UMOUNT2, target.encode(), 2)
    return try_write(target)
def namespace(flags, target):
    child = os.fork()
    if child == 0:
        try:
            call(UNSHARE, flags)
            remount(target, MS_BIND)
            os._exit(0)
        except OSError as e:
            os._exit(e.errno)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code:
        raise OSError(code, "")
def pivot(target):
    os.makedirs("/tmp/new/old", exist_ok=True)
    call(MOUNT, b"/tmp/new", b"/tmp/new", 0, MS_BIND, 0)
    call(PIVOT_ROOT, b"/tmp/new", b"/tmp/new/old")
for target in sys.argv[1:]:
    attempt(target + ": write", lambda: try_write(target))
    attempt(target + ": remount", lambda: remount(target, 0))
    attempt(target + ": remount the bind", lambda: remount(target, MS_BIND))
    attempt(target + ": mount_setattr", lambda: setattr(target, 0))
    attempt(target + ": mount_setattr of all below", lambda: setattr(target, AT_RECURSIVE))
    attempt(target + ": fspick", lambda: reconfigure(target))
    attempt(target + ": open_tree", lambda: clone_tree(target))
    attempt(target + ": open_tree_attr", lambda: clone_tree_at_once(target))
    attempt(target + ": bind elsewhere", lambda: bind_elsewhere(target))
    attempt(target + ": tmpfs over it", lambda: cover(target))
    attempt(target + ": unmount", lambda: unmount(target))
    attempt(target + ": mount namespace", lambda: namespace(0x20000, target))
    attempt(target + ": user namespace", lambda: namespace(0x10020000, target))
attempt("pivot_root", lambda: pivot("/"))
`;

/** Outside: a folder that is bound read-only in a mount namespace of the attack's own, and whose writing is refused. */
const readonlyBind = `
target = sys.argv[1]
libc.mount(target.encode(), target.encode(), 0, 4096, 0)
libc.mount(b"none", target.encode(), 0, 4096 | 32 | 1, 0)
try:
    os.open(target + "/before", os.O_CREAT | os.O_WRONLY)
    raise SystemExit("the bind is not read-only")
except OSError:
    pass
`;

/** The classic way out of a chroot: keep a folder open, change the root below it, go up. */
const leaveByChroot = `
def escape():
    os.makedirs("/tmp/cell", exist_ok=True)
    fd = os.open("/", os.O_RDONLY)
    os.chroot("/tmp/cell")
    os.fchdir(fd)
    for _ in range(64):
        os.chdir("..")
    os.chroot(".")
    return read(sys.argv[1])
attempt("escape", escape)
`;

describe("F4 read-only stays read-only", () => {
  describe.each(actors)("as $name", (actor) => {
    it("the calls make a read-only bind writable where there is no sandbox", async () => {
      const target = actor.folder("bound");
      const under = ["unshare", "--user", "--map-root-user", "--mount", "--"];
      const source = `${readonlyBind}\n${makeWritable}`;
      const attempts = await attackOutside(actor, { source, args: [target], cwd: actor.folder() }, under);
      expect(successful(attempts)).toEqual(
        expect.arrayContaining([
          `${target}: remount the bind`,
          `${target}: mount_setattr`,
          `${target}: open_tree`,
          `${target}: tmpfs over it`,
          `${target}: bind elsewhere`,
        ]),
      );
    });

    it.each([
      ["moderate", ["/usr", "/data", "/proc/sys"]],
      ["permissive", ["/usr", "/data", "/proc/sys"]],
      ["restrictive", ["/", "/usr", "/data", "/workspace", "/proc/sys", "/etc"]],
    ] as const)("under %s", async (profile, targets) => {
      const mounted = plant(actor, actor.folder("mounted"), { file: "original" });
      const before = snapshot(mounted);
      const cwd = actor.folder();
      const flags = ["-p", profile, "-v", `${mounted}:/data:ro`];
      const attempts = await attackInside(actor, { source: makeWritable, args: targets, cwd, flags });
      expect(successful(attempts)).toEqual([]);
      expect(Object.keys(attempts).length).toBe(targets.length * 13 + 1);
      expect(snapshot(mounted)).toEqual(before);
      expect(snapshot(cwd)).toEqual({});
    });

    it("a changed root inside does not lead to the host's", async () => {
      const outside = plant(actor, actor.folder("outside"), { secret: "of the host" });
      const attack = { source: leaveByChroot, args: [join(outside, "secret")], cwd: actor.folder() };
      const under = ["unshare", "--user", "--map-root-user", "--"];
      expect(await attackOutside(actor, attack, under)).toEqual({ escape: { ok: "of the host" } });
      for (const profile of ["moderate", "permissive", "restrictive"]) {
        expect(successful(await attackInside(actor, { ...attack, flags: ["-p", profile] }))).toEqual([]);
      }
    });
  });
});
