/**
 * Attacks on gvisor whose answer is gVisor's own or the jail's around it. What they show is what the whole suite shows on
 * linux; `AGENTKERNEL_TEST_BACKEND=gvisor npm test -- security` runs all of it against this backend.
 */

import { writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { actors } from "../support/actors.js";
import { provenGvisor } from "../support/gvisor-backend.js";
import { leaksSince, traces } from "../support/leaks.js";
import { runIn } from "../support/run-cli.js";
import { privateKeyHolding } from "../support/secret-files.js";
import { attackInside, attackOutside, leaking } from "./support/fs-attack.js";
import { plant } from "./support/fs-tree.js";
import { runForAnswer } from "./support/process-answers.js";

const SECRET = "planted-secret-of-the-host";
const onGvisor = ["--backend", "gvisor"];

const readPaths = `
for path in sys.argv[1:]:
    attempt(path, lambda: read(path))
    for root in ("self", "1", str(os.getppid())):
        attempt(f"/proc/{root}/root{path}", lambda: read(f"/proc/{root}/root{path}"))
`;

const writeOutside = `
target = sys.argv[1]
attempt("path", lambda: write(target + "/by-path"))
attempt("link", lambda: (os.symlink(target, "way"), write("way/by-link"))[1])
attempt("sysrq", lambda: write("/proc/sysrq-trigger", "h"))
attempt("core_pattern", lambda: write("/proc/sys/kernel/core_pattern", "|/bin/false"))
attempt("disk", lambda: (os.mknod("/tmp/disk", stat.S_IFBLK | 0o600, os.makedev(8, 0)), open("/tmp/disk", "rb").read(1))[1])
`;

const remount = `
def mount(flags):
    if libc.mount(b"none", sys.argv[1].encode(), None, flags, None) != 0:
        raise OSError(ctypes.get_errno(), "mount")
    return "mounted"
attempt("remount", lambda: mount(32))
attempt("tmpfs", lambda: "mounted" if libc.mount(b"none", b"/tmp", b"tmpfs", 0, None) == 0 else (_ for _ in ()).throw(OSError(ctypes.get_errno(), "mount")))
attempt("userns", lambda: "made" if libc.unshare(0x10000000) == 0 else (_ for _ in ()).throw(OSError(ctypes.get_errno(), "unshare")))
`;

const connect = `
import socket
def reach(port):
    with socket.create_connection(("127.0.0.1", port), timeout=5) as s: return s.recv(100).decode()
attempt("loopback", lambda: reach(int(sys.argv[1])))
`;

for (const actor of actors) {
  const gvisor = await provenGvisor(actor);
  const flags = [...onGvisor, "--no-network"];

  describe.skipIf(gvisor === null)(`as ${actor.name}`, () => {
    describe("F1 on gvisor: files outside the project cannot be read", () => {
      it("neither by path nor through /proc", async () => {
        const outside = plant(actor, actor.folder("outside"), { "secret.txt": SECRET });
        const path = join(outside, "secret.txt");
        const attack = { source: readPaths, args: [path], cwd: actor.folder() };
        expect(leaking(await attackOutside(actor, attack), SECRET)).toContain(path);
        for (const form of ["copy", "mount", "none"]) {
          const tried = await attackInside(actor, { ...attack, flags: [...flags, "--workspace", form] });
          expect(leaking(tried, SECRET), form).toEqual([]);
        }
      });
    });

    describe("F2 on gvisor: nothing outside the workspace is written", () => {
      it("by path, link, /proc or a device", async () => {
        const outside = actor.folder("outside");
        const attack = { source: writeOutside, args: [outside], cwd: actor.folder() };
        expect(await attackOutside(actor, attack)).toMatchObject({ path: { ok: "written" }, link: { ok: "written" } });
        const empty = actor.folder("outside");
        const tried = await attackInside(actor, { ...attack, args: [empty], cwd: actor.folder(), flags });
        expect(Object.entries(tried).filter(([, { ok }]) => ok !== undefined)).toEqual([]);
      });
    });

    describe("F4 on gvisor: what is read-only stays so", () => {
      it("whatever is mounted over or again, and no new namespace helps", async () => {
        const attack = { source: remount, args: ["/"], cwd: actor.folder() };
        const tried = await attackInside(actor, { ...attack, flags: [...flags, "-p", "restrictive"] });
        expect(tried).toEqual({ remount: { error: "EPERM" }, tmpfs: { error: "EPERM" }, userns: { error: "EPERM" } });
        const written = await runIn(actor, [...flags, "-p", "restrictive", "sh", "-c", "echo x > /usr/x; echo x > /x"]);
        expect(written.stderr.match(/Read-only file system|Permission denied/g)).toHaveLength(2);
      });
    });

    describe("F8 on gvisor: secrets of the project are hidden", () => {
      it.each(["copy", "sync", "mount"])("as %s", async (form) => {
        const project = plant(actor, actor.folder(), {
          ".env": SECRET,
          "sub/id_rsa": privateKeyHolding(SECRET),
          "plain.txt": "seen",
        });
        const attack = { source: readPaths, args: [".env", "sub/id_rsa", "plain.txt"], cwd: project };
        expect(leaking(await attackOutside(actor, attack), SECRET)).toEqual([".env", "sub/id_rsa"]);
        const tried = await attackInside(actor, { ...attack, flags: [...flags, "--workspace", form] });
        expect(leaking(tried, SECRET)).toEqual([]);
        expect(tried["plain.txt"]).toEqual({ ok: "seen" });
      });
    });

    describe("N1 on gvisor: a sandbox without a network", () => {
      it("reaches nobody on the host's loopback", async () => {
        const server = createServer((socket) => socket.end("the host"));
        await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
        try {
          const address = server.address();
          const port = typeof address === "object" && address !== null ? String(address.port) : "";
          const attack = { source: connect, args: [port], cwd: actor.folder() };
          expect(await attackOutside(actor, attack)).toEqual({ loopback: { ok: "the host" } });
          expect(await attackInside(actor, { ...attack, flags })).toEqual({ loopback: { error: "ECONNREFUSED" } });
        } finally {
          server.close();
        }
      });
    });

    describe("P1 on gvisor: bombs hit the sandbox's limits", () => {
      it("a fork bomb gets EAGAIN, and a memory bomb ends its sandbox and nothing else", async () => {
        const forks = "n=0; while [ $n -lt 80 ]; do sleep 20 & n=$((n+1)); done; echo all";
        const cwd = actor.folder();
        const bomb = await runIn(actor, [...flags, "--pids", "30", "sh", "-c", forks], { cwd });
        expect(bomb.stdout).not.toContain("all");
        expect(bomb.stderr).toMatch(/fork/i);
        const eat = "b = []\nwhile True: b.append(bytearray(1 << 20))";
        const eaten = await runIn(actor, [...flags, "--memory", "128m", "python3", "-c", eat], { cwd });
        expect(eaten.status).not.toBe(0);
      });
    });

    describe("P2 on gvisor: nothing survives the timeout", () => {
      it("whatever it left, ignored or daemonised", async () => {
        const before = traces();
        const script = "trap '' TERM HUP; (setsid sh -c \"trap '' TERM HUP; sleep 4321\" &); sleep 4321";
        const cwd = actor.folder();
        const ran = await runIn(actor, [...flags, "--timeout", "1500ms", "sh", "-c", script], { cwd });
        expect(ran.status).toBe(124);
        expect(await leaksSince(before)).toEqual([]);
      });
    });

    describe("P6 on gvisor: nothing of the host's is visible", () => {
      it("neither its kernel, its mounts nor its processes", async () => {
        const project = actor.folder();
        writeFileSync(join(project, "f"), "");
        const facts = "cat /proc/version /proc/mounts /proc/cmdline /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' '";
        const { stdout, layers } = await runForAnswer(actor, [...flags, "sh", "-c", facts], { cwd: project });
        expect(layers).toContainEqual(expect.objectContaining({ name: "gvisor", state: "applied" }));
        expect(stdout).not.toContain(project);
        expect(stdout).not.toContain("runsc");
        expect(stdout).not.toMatch(/vitest|lowerdir/);
      });
    });

    describe("P7 on gvisor: a command has only 0, 1 and 2", () => {
      it("and the guest's stream is in nobody else's hands", async () => {
        const list = "for fd in /proc/self/fd/*; do readlink $fd; done | grep -c -e socket -e host:";
        const ran = await runIn(actor, [...flags, "sh", "-c", list], { cwd: actor.folder() });
        expect(ran.stdout).toBe("0\n");
      });
    });
  });
}
