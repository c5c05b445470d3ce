/**
 * Where a project is shown and not copied, the sandbox's root has been built beside the directory itself, with all that
 * is hidden in it. Nothing of that way may be left.
 */
import { statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Actor, actors } from "../../support/actors.js";
import { runIn } from "../../support/run-cli.js";
import { attackInside, attackOutside, leaking, successful } from "../support/fs-attack.js";
import { plant, snapshot } from "../support/fs-tree.js";

const SECRET = "planted-secret-below-the-view";

function project(actor: Actor): string {
  return plant(actor, actor.folder(), { ".env": `KEY=${SECRET}`, "code/file.txt": "code", "code/other.txt": "other" });
}

/** Looks for the secret behind every mount, process and descriptor, and below the view itself. */
const lookBehind = `
SECRET, host = sys.argv[1], sys.argv[2]
def has(path):
    try:
        return SECRET in read(path)
    except OSError:
        return False
def places():
    for line in open("/proc/self/mountinfo"):
        yield line.split(" ")[4].encode().decode("unicode_escape")
    for pid in [name for name in os.listdir("/proc") if name.isdigit()] + ["self", "thread-self"]:
        for name in ["root", "cwd", "root" + host, "cwd/.."]:
            yield f"/proc/{pid}/{name}"
        try:
            for number in os.listdir(f"/proc/{pid}/fd"):
                yield f"/proc/{pid}/fd/{number}"
        except OSError:
            pass
def search():
    return [place for place in places() if has(place + "/.env") or has(place + "/workspace/.env")]
def unmount(flags):
    if libc.umount2(b"/workspace", flags) != 0:
        raise OSError(ctypes.get_errno(), "umount")
    return search()
def bind():
    os.makedirs("/tmp/bound", exist_ok=True)
    if libc.mount(b"/", b"/tmp/bound", None, 4096 | 16384, None) != 0:
        raise OSError(ctypes.get_errno(), "mount")
    return "bound"
def clone():
    return call(428, -100, b"/workspace", 1)
def by_handle():
    handle = ctypes.create_string_buffer(struct.pack("Ii", 128, 0) + b"\\0" * 128)
    mount = ctypes.c_int()
    call(303 if x86 else 264, -100, b"/workspace/code", ctypes.addressof(handle), ctypes.addressof(mount), 0)
    fd = os.open("/workspace", os.O_RDONLY)
    return "opened" + str(call(304 if x86 else 265, fd, ctypes.addressof(handle), 0))
attempt("search", lambda: " ".join(search()) + (SECRET if search() else ""))
attempt("host path", lambda: [line for line in open("/proc/self/mountinfo") if host in line and " - overlay " not in line])
attempt("unmount", lambda: unmount(0))
attempt("unmount lazily", lambda: unmount(2))
attempt("bind", bind)
attempt("clone", clone)
attempt("handle", by_handle)
attempt("namespace", lambda: call(272 if x86 else 97, 0x10000000 | 0x00020000))
`;

/** Changes everything there is by every call that changes a file. */
const changeAll = `
import mmap
def mapped():
    with open("code/file.txt", "r+b") as file:
        mmap.mmap(file.fileno(), 0)[0:1] = b"X"
def set_attribute():
    os.setxattr("code/other.txt", "user.attacked", b"1")
attempt("append", lambda: open("code/file.txt", "a").write("more"))
attempt("mapped", mapped)
attempt("truncate", lambda: os.truncate("code/other.txt", 0))
attempt("mode", lambda: os.chmod("code/other.txt", 0o777))
attempt("directory's mode", lambda: os.chmod("code", 0o777))
attempt("top's mode", lambda: os.chmod(".", 0o777))
attempt("times", lambda: os.utime("code/other.txt", (1, 1)))
attempt("attribute", set_attribute)
attempt("hard link", lambda: os.link("code/other.txt", "linked"))
attempt("rename", lambda: os.rename("code/other.txt", "renamed"))
attempt("new", lambda: write("code/new"))
attempt("delete", lambda: os.unlink("code/file.txt"))
attempt("directory", lambda: os.rename("code", "moved"))
`;

/** Owner, mode and times too: none may differ afterwards. */
function facts(folder: string): unknown {
  const names = [".", ".env", "code", "code/file.txt", "code/other.txt"];
  return names.map((name) => {
    const { ino, mode, uid, gid, size, mtimeMs, ctimeMs, nlink } = statSync(join(folder, name));
    return [name, ino, mode, uid, gid, size, mtimeMs, ctimeMs, nlink];
  });
}

describe("F1 the directory that a project is shown from is out of reach", () => {
  describe.each(actors)("as $name", (actor) => {
    it("the attack finds it where there is no sandbox", async () => {
      const cwd = project(actor);
      const attempts = await attackOutside(actor, { source: lookBehind, args: [SECRET, cwd], cwd });
      expect(leaking(attempts, SECRET)).toEqual(["search"]);
    });

    it.each([
      ["copy", []],
      ["copy, with a mount beside it", ["-v", "/usr/share:/data:ro"]],
    ] as const)("no mount, process, descriptor or handle leads to it, as %s", async (_, flags) => {
      const cwd = project(actor);
      const attempts = await attackInside(actor, { source: lookBehind, args: [SECRET, cwd], cwd, flags });
      expect(attempts.search).toEqual({ ok: "" });
      expect(attempts["host path"]).toEqual({ ok: "[]" });
      expect(successful(attempts)).toEqual(["host path", "search"]);
    });

    it("it is shown and not copied, and what the engine mounted is gone", async () => {
      const cwd = project(actor);
      const script =
        "grep -c ' /workspace [^-]*- overlay ' /proc/self/mountinfo; ls -A /.agentkernel/live 2>/dev/null | wc -l";
      const ran = await runIn(actor, ["sh", "-c", script], { cwd });
      expect(ran).toMatchObject({ status: 0, stdout: "1\n0\n" });
    });

    it("no call changes anything of the host's in it", async () => {
      const cwd = project(actor);
      const before = [facts(cwd), snapshot(cwd)];
      const attempts = await attackInside(actor, { source: changeAll, cwd });
      expect(successful(attempts)).toEqual(
        expect.arrayContaining(["append", "delete", "mapped", "rename", "truncate"]),
      );
      expect([facts(cwd), snapshot(cwd)]).toEqual(before);
    });
  });
});
