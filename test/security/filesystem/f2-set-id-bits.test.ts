import { execFileSync } from "node:child_process";
import { lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { actors } from "../../support/actors.js";
import { type Attempts, attackInside, attackOutside } from "../support/fs-attack.js";

/** Every call that can give a file a setuid or setgid bit, or a capability, in the current folder. */
const raiseBits = `
SETUID, SETGID = 0o4755, 0o2755
def fresh(name):
    os.close(os.open(name, os.O_CREAT | os.O_WRONLY, 0o755))
    return name
def by_fchmod(name, mode):
    fd = os.open(fresh(name), os.O_RDWR)
    os.fchmod(fd, mode)
def by_tmpfile(name, mode):
    fd = os.open(".", os.O_TMPFILE | os.O_WRONLY, mode)
    call(265 if x86 else 37, -100, f"/proc/self/fd/{fd}".encode(), -100, name.encode(), 0x400)
def by_openat2(name, mode):
    how = struct.pack("QQQ", os.O_CREAT | os.O_WRONLY, mode, 0)
    os.close(call(437, -100, name.encode(), how, len(how)))
def by_upper_bits(name, mode):
    # The kernel looks at the low bits only, a filter might look at all of them.
    call(268 if x86 else 53, -100, fresh(name).encode(), mode | 0x5A5A << 32)
def by_copy(name):
    import shutil
    shutil.copy2("/usr/bin/su", name)
for mode in (SETUID, SETGID, 0o6755):
    m = oct(mode)
    attempt(f"chmod {m}", lambda: os.chmod(fresh(f"chmod-{m}"), mode))
    attempt(f"fchmod {m}", lambda: by_fchmod(f"fchmod-{m}", mode))
    attempt(f"fchmodat {m}", lambda: call(268 if x86 else 53, -100, fresh(f"fchmodat-{m}").encode(), mode))
    attempt(f"fchmodat2 {m}", lambda: call(452, -100, fresh(f"fchmodat2-{m}").encode(), mode, 0))
    attempt(f"fchmodat upper {m}", lambda: by_upper_bits(f"upper-{m}", mode))
    attempt(f"openat {m}", lambda: os.close(os.open(f"openat-{m}", os.O_CREAT | os.O_WRONLY, mode)))
    attempt(f"openat2 {m}", lambda: by_openat2(f"openat2-{m}", mode))
    attempt(f"tmpfile {m}", lambda: by_tmpfile(f"tmpfile-{m}", mode))
    attempt(f"mknodat {m}", lambda: os.mknod(f"mknodat-{m}", stat.S_IFREG | mode))
    attempt(f"mkdirat {m}", lambda: os.mkdir(f"mkdirat-{m}", mode))
    if x86:
        attempt(f"chmod call {m}", lambda: call(90, fresh(f"oldchmod-{m}").encode(), mode))
        attempt(f"open {m}", lambda: os.close(call(2, f"open-{m}".encode(), os.O_CREAT | os.O_WRONLY, mode)))
        attempt(f"creat {m}", lambda: os.close(call(85, f"creat-{m}".encode(), mode)))
        attempt(f"mknod {m}", lambda: call(133, f"mknod-{m}".encode(), stat.S_IFREG | mode, 0))
        attempt(f"mkdir {m}", lambda: call(83, f"mkdir-{m}".encode(), mode))
os.mkdir("folder", 0o755)
attempt("folder", lambda: os.chmod("folder", 0o2777))
attempt("copy of a setuid program", lambda: by_copy("copied"))
SETUID_CAPABILITY = 1 << 7
capability = struct.pack("<IIIII", 0x02000001, SETUID_CAPABILITY, 0, 0, 0)
namespaced = struct.pack("<IIIIII", 0x03000001, SETUID_CAPABILITY, 0, 0, 0, 0)
attempt("capability", lambda: os.setxattr(fresh("capability"), "security.capability", capability))
attempt("capability of version 3", lambda: os.setxattr(fresh("capability3"), "security.capability", namespaced))
`;

/**
 * Names in `folder` that would run with somebody else's rights on the host. A capability counts where the machine
 * itself would honour it: version 2, or one that belongs to its root.
 */
function raised(folder: string): readonly string[] {
  const ask = `
import os, struct, sys
for name in os.listdir("."):
    try:
        value = os.getxattr(name, "security.capability", follow_symlinks=False)
    except OSError:
        continue
    if len(value) == 20 or len(value) == 24 and struct.unpack("<6I", value)[5] == 0:
        print(name)`;
  const capable = execFileSync("python3", ["-c", ask], { cwd: folder, encoding: "utf8" }).split("\n").filter(Boolean);
  const withBits = readdirSync(folder).filter((name) => (lstatSync(join(folder, name)).mode & 0o6000) !== 0);
  return [...new Set([...withBits, ...capable])].sort();
}

describe("F2 no setuid bit, setgid bit or capability reaches the host", () => {
  describe.each(actors)("as $name", (actor) => {
    it("the calls raise them where there is no sandbox", async () => {
      const folder = actor.folder();
      await attackOutside(actor, { source: raiseBits, cwd: folder });
      const names = raised(folder);
      for (const way of ["chmod-", "fchmod-", "fchmodat-", "upper-", "openat-", "openat2-", "tmpfile-", "mknodat-"]) {
        expect(
          names.filter((name) => name.startsWith(way)),
          way,
        ).toHaveLength(3);
      }
      expect(names).toContain("folder");
      // A user cannot give capabilities away; only root shows that the attack works.
      if (actor.name === "root") expect(names).toEqual(expect.arrayContaining(["capability", "capability3"]));
    });

    it.each([
      ["--workspace mount", ["--workspace", "mount"]],
      ["--workspace sync", ["--workspace", "sync"]],
      ["--workspace copy", ["--workspace", "copy"]],
      ["the permissive profile", ["-p", "permissive"]],
      ["a live workspace under strict rules", ["--compatibility-mode", "codex", "--workspace", "mount"]],
    ])("with %s", async (_, flags) => {
      const folder = actor.folder();
      const attempts = await attackInside(actor, { source: raiseBits, cwd: folder, flags });
      expect(raised(folder)).toEqual([]);
      expect(Object.keys(attempts).length).toBeGreaterThan(30);
    });

    it("with a writable mount beside a copied workspace", async () => {
      const folder = actor.folder("mounted");
      const flags = ["-v", `${folder}:/data`, "-w", "/data"];
      const attempts = await attackInside(actor, { source: raiseBits, cwd: actor.folder(), flags });
      expect(raised(folder)).toEqual([]);
      expect(readdirSync(folder).length).toBeGreaterThan(0);
      expect(refusedWith(attempts, "chmod 0o4755")).toBe("EPERM");
    });
  });
});

function refusedWith(attempts: Attempts, name: string): string | undefined {
  return attempts[name]?.error;
}
