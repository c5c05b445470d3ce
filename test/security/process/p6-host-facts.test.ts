import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { actors } from "../../support/actors.js";
import { runIn } from "../../support/run-cli.js";
import { runOutside } from "../support/process-programs.js";

/** Everything that a process can read about processes, mounts and the machine, as one text. */
const LOOK = `
import glob, os
def show(name, read):
    try: print("##", name, read())
    except OSError as e: print("##", name, "errno", e.errno)
def text(path): return open(path, "rb").read(1 << 20).replace(b"\\0", b" ").decode("latin1")
for pid in glob.glob("/proc/[0-9]*"):
    for part in ["cmdline", "environ", "cgroup", "mounts", "mountinfo", "mountstats", "status", "maps"]:
        show(pid + "/" + part, lambda: text(pid + "/" + part))
print("## env", os.environ)
print("## uname", os.uname())
for path in ["/proc/cmdline", "/proc/keys", "/proc/key-users", "/proc/kallsyms", "/proc/net/unix", "/proc/locks",
             "/proc/sys/kernel/hostname", "/etc/hostname", "/etc/hosts", "/etc/passwd", "/etc/fstab", "/etc/mtab",
             "/proc/partitions", "/proc/swaps", "/proc/modules"]:
    show(path, lambda: text(path))
`;

/** One answer per line: what each way to the kernel's log, keys and /sys gives. */
const KERNEL = `
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
buffer = ctypes.create_string_buffer(1 << 16)
got = libc.klogctl(3, buffer, len(buffer))
print("klogctl", ctypes.get_errno() if got < 0 else "bytes")
for path in ["/dev/kmsg", "/proc/kmsg"]:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        print(path, "bytes" if os.read(fd, 8192) else "empty")
    except OSError as e: print(path, e.errno)
print("keyctl", "works" if libc.syscall(250, 0, -3, 0) >= 0 else ctypes.get_errno())
for path in ["/proc/keys", "/proc/cmdline"]:
    try: print(path, "bytes" if open(path).read() else "empty")
    except OSError as e: print(path, e.errno)
print("sys", sorted(os.listdir("/sys")))
`;

describe("P6 what a sandbox can learn about the host", () => {
  const secret = `secret-${randomBytes(8).toString("hex")}`;

  describe.each(actors)("as $name", (actor) => {
    let neighbour: ReturnType<typeof spawn>;
    beforeAll(() => {
      const identity = process.getuid?.() === 0 ? { uid: actor.uid, gid: actor.gid } : {};
      const env = { TOKEN: `env-${secret}` };
      neighbour = spawn("/bin/sleep", ["600"], { ...identity, argv0: `arg-${secret}`, env, stdio: "ignore" });
    });
    afterAll(() => {
      neighbour.kill("SIGKILL");
    });

    const look = (words: readonly string[], cwd: string) =>
      runIn(actor, [...words, "python3", "-c", LOOK], { cwd, env: { API_TOKEN: `own-${secret}` } });

    it("outside, environments, command lines, mounts and the host's name are there to read", async () => {
      const ran = await runOutside(actor, ["python3", "-c", LOOK], { env: { API_TOKEN: `own-${secret}` } });
      for (const found of [`env-${secret}`, `arg-${secret}`, `own-${secret}`, hostname()]) {
        expect(ran.stdout).toContain(found);
      }
    });

    it.each([
      ["copy", "moderate"],
      ["sync", "moderate"],
      ["none", "moderate"],
      ["copy", "restrictive"],
    ])("inside, nothing of it is visible but where the shown project lies (%s, %s)", async (workspace, profile) => {
      const cwd = actor.folder();
      const ran = await look(["--workspace", workspace, "--profile", profile], cwd);
      expect(ran.status).toBe(0);
      expect(ran.stdout).toContain("## /proc/1/mountinfo");
      const rest = workspace === "none" ? ran.stdout : ran.stdout.replaceAll(cwd, "");
      expect(visible(rest, [secret, cwd, actor.home, actor.dist])).toEqual([]);
      expect(ran.stdout).toMatch(/nodename='run-[0-9a-f]+'/);
      expect(ran.stdout).toMatch(/^## \/etc\/hostname run-[0-9a-f]+$/m);
      expect(ran.stdout).toMatch(/^## \/proc\/sys\/kernel\/hostname run-[0-9a-f]+$/m);
      expect(optionPaths(ran.stdout)).toEqual([]);
    });

    it("a live project shows its own path in the mount table, because the kernel does, and nothing else", async () => {
      const cwd = actor.folder();
      const ran = await look(["--workspace", "mount"], cwd);
      // From the root of its file system: in a world of the test suite that is further up.
      expect(ran.stdout).toMatch(new RegExp(` \\S*${cwd} /workspace `));
      const rest = ran.stdout.replaceAll(cwd, "");
      expect(visible(rest, [secret, actor.home, actor.dist])).toEqual([]);
    });

    it("every process sees itself at the root of all cgroups", async () => {
      const own = (stdout: string) => [...stdout.matchAll(/^\d+:[^:]*:(.*)$/gm)].map((found) => found[1]);
      const ran = await runIn(actor, ["cat", "/proc/self/cgroup"]);
      expect(own(ran.stdout).length).toBeGreaterThan(0);
      expect(new Set(own(ran.stdout))).toEqual(new Set(["/"]));
    });

    it.each(["moderate", "restrictive"])("kernel log, keys, command line and /sys are closed (%s)", async (profile) => {
      if (actor.name === "root") {
        const outside = await runOutside(actor, ["python3", "-c", KERNEL]);
        expect(outside.stdout).toMatch(/^klogctl bytes$/m);
        expect(outside.stdout).toMatch(/^keyctl works$/m);
        expect(outside.stdout).toMatch(/^\/proc\/cmdline bytes$/m);
        expect(outside.stdout).not.toMatch(/^sys \[\]$/m);
      }
      const ran = await runIn(actor, ["--profile", profile, "python3", "-c", KERNEL]);
      expect(ran.stdout.trim().split("\n")).toEqual([
        "klogctl 1",
        "/dev/kmsg 2",
        expect.stringMatching(/^\/proc\/kmsg (empty|13)$/),
        "keyctl 1",
        // 2: a kernel that was built without keys.
        expect.stringMatching(/^\/proc\/keys (empty|13|2)$/),
        expect.stringMatching(/^\/proc\/cmdline (empty|13)$/),
        // The cgroup of its own and the number of processors, where the kernel is the host's.
        expect.stringMatching(/^sys (\[\]|\['devices', 'fs'\])$/),
      ]);
    });
  });
});

function visible(text: string, hidden: readonly string[]): readonly string[] {
  return hidden.filter((word) => text.includes(word));
}

/** Absolute paths in the options of overlays: the upper, lower and work folders must have neutral names. */
function optionPaths(stdout: string): readonly string[] {
  return [...stdout.matchAll(/(?:lowerdir|upperdir|workdir)=\/[^\s,]*/g)].map((found) => found[0]);
}
