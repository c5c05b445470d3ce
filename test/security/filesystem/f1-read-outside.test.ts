import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { type Actor, actors } from "../../support/actors.js";
import { attackInside, attackOutside, leaking } from "../support/fs-attack.js";
import { own, plant } from "../support/fs-tree.js";

const SECRET = "planted-secret-of-the-host";

/** Reads every path that it is given, directly and through the ways in which /proc shows the root. */
const readPaths = `
for path in sys.argv[1:]:
    attempt(path, lambda: read(path))
    for root in ("self", "thread-self", "1", str(os.getppid())):
        attempt(f"/proc/{root}/root{path}", lambda: read(f"/proc/{root}/root{path}"))
`;

/** Follows whatever the project has in it: links to files, and links to folders with the secret below them. */
const readLinks = `
for name in sorted(os.listdir(".")):
    attempt(name, lambda: read(name) if not os.path.isdir(name) else read(name + sys.argv[1]))
`;

/** Looks for the secret behind every process's working folder, root and open files. */
const readProcesses = `
for pid in [p for p in os.listdir("/proc") if p.isdigit()]:
    attempt(f"{pid} cwd", lambda: read(f"/proc/{pid}/cwd/secret.txt"))
    attempt(f"{pid} cwd above", lambda: read(f"/proc/{pid}/cwd/../" + sys.argv[1]))
    attempt(f"{pid} root", lambda: read(f"/proc/{pid}/root{sys.argv[2]}"))
    try:
        descriptors = os.listdir(f"/proc/{pid}/fd")
    except OSError:
        descriptors = []
    for fd in descriptors:
        # Only plain files: reading a pipe would wait.
        attempt(f"{pid} fd {fd}", lambda: read(f"/proc/{pid}/fd/{fd}") if stat.S_ISREG(os.stat(f"/proc/{pid}/fd/{fd}").st_mode) else "")
`;

/** Reads all there is, apart from the system's own programs. */
const readEverything = `
found = []
looked = 0
for top in sys.argv[2:]:
    for folder, below, files in os.walk(top):
        if folder in ("/usr", "/proc", "/sys"):
            below.clear()
            continue
        for name in files:
            path = os.path.join(folder, name)
            try:
                if stat.S_ISREG(os.stat(path).st_mode):
                    looked += 1
                    with open(path, "rb") as file:
                        if sys.argv[1].encode() in file.read():
                            found.append(path)
            except OSError:
                pass
attempt("found", lambda: "\\n".join(found))
attempt("looked", lambda: looked)
`;

function plantHome(actor: Actor): readonly string[] {
  plant(actor, actor.home, {
    ".ssh/id_ed25519": SECRET,
    ".ssh/config": SECRET,
    ".aws/credentials": SECRET,
    ".config/gcloud/credentials.db": SECRET,
    ".netrc": `machine example.org login me password ${SECRET}`,
    ".npmrc": `//registry/:_authToken=${SECRET}`,
    ".bash_history": SECRET,
    ".claude/.credentials.json": SECRET,
    "work/deep/.env.production": SECRET,
    "notes.txt": "nothing secret",
  });
  return [".ssh/id_ed25519", ".ssh/config", ".aws/credentials", ".netrc"].map((name) => join(actor.home, name));
}

describe("F1 files outside the project cannot be read", () => {
  describe.each(actors)("as $name", (actor) => {
    let secrets: readonly string[];
    let outside: string;

    beforeAll(() => {
      secrets = plantHome(actor);
      outside = plant(actor, actor.folder("outside"), { "secret.txt": SECRET });
    });

    it.each(["copy", "sync", "mount", "none"])("not by path, with the workspace as %s", async (form) => {
      const attack = { source: readPaths, args: [...secrets, join(outside, "secret.txt")], cwd: actor.folder() };
      expect(leaking(await attackOutside(actor, attack), SECRET)).toEqual(
        expect.arrayContaining([...attack.args, ...attack.args.map((path) => `/proc/self/root${path}`)]),
      );
      expect(leaking(await attackInside(actor, { ...attack, flags: ["--workspace", form] }), SECRET)).toEqual([]);
    });

    it.each(["copy", "sync", "mount"])("not by a link that lies in the project, as %s", async (form) => {
      const secret = join(outside, "secret.txt");
      const project = plant(actor, actor.folder(), {
        absolute: `-> ${secret}`,
        relative: `-> ${"../".repeat(20)}${secret.slice(1)}`,
        "through-proc": `-> /proc/self/root${secret}`,
        "through-cwd": `-> /proc/self/cwd/${"../".repeat(20)}${secret.slice(1)}`,
        "to-the-root": "-> /",
        "to-a-link": "-> absolute",
      });
      const attack = { source: readLinks, args: [secret], cwd: project };
      expect(leaking(await attackOutside(actor, attack), SECRET)).toEqual(readdirSync(project).sort());
      expect(leaking(await attackInside(actor, { ...attack, flags: ["--workspace", form] }), SECRET)).toEqual([]);
    });

    it("not through a process of the host that has them open", async () => {
      const identity = process.getuid?.() === 0 ? { uid: actor.uid, gid: actor.gid } : {};
      const holder = spawn("sh", ["-c", "exec 7<secret.txt; echo open; exec cat"], { ...identity, cwd: outside });
      try {
        await once(holder.stdout, "data");
        const path = join(outside, "secret.txt");
        const attack = { source: readProcesses, args: ["secret.txt", path], cwd: actor.folder() };
        const open = leaking(await attackOutside(actor, attack), SECRET);
        expect(open).toEqual(expect.arrayContaining([`${holder.pid} cwd`, `${holder.pid} fd 7`, `${holder.pid} root`]));
        for (const profile of ["moderate", "restrictive", "permissive"]) {
          expect(leaking(await attackInside(actor, { ...attack, flags: ["-p", profile] }), SECRET)).toEqual([]);
        }
      } finally {
        holder.kill("SIGKILL");
      }
    });

    it("not by searching everything there is", async () => {
      const attack = { source: readEverything, args: [SECRET, actor.home, outside], cwd: actor.folder() };
      const found = await attackOutside(actor, attack);
      expect(found.found?.ok?.split("\n").length).toBeGreaterThanOrEqual(10);
      for (const flags of [[], ["-p", "restrictive"], ["--workspace", "none"]]) {
        // Without the toolchains of this machine, which would be read whole: f1-host-programs attacks what they bring.
        const env = { PATH: "/usr/sbin:/usr/bin:/sbin:/bin" };
        const inside = await attackInside(actor, { ...attack, args: [SECRET, "/"], flags, env });
        expect(inside.found).toEqual({ ok: "" });
        expect(Number(inside.looked?.ok)).toBeGreaterThan(0);
      }
    });

    it("the home folder that permissive shows is read-only and has no secrets in it", async () => {
      const attack = { source: readEverything, args: [SECRET, actor.home], cwd: actor.folder() };
      const inside = await attackInside(actor, { ...attack, args: [SECRET, "/"], flags: ["-p", "permissive"] });
      expect(inside.found).toEqual({ ok: "" });
      const source = `
attempt("ordinary", lambda: read(sys.argv[1] + "/notes.txt"))
attempt("write", lambda: write(sys.argv[1] + "/notes.txt"))
attempt("create", lambda: write(sys.argv[1] + "/new"))
attempt("authorized", lambda: os.makedirs(sys.argv[1] + "/.ssh"))
attempt("chmod", lambda: os.chmod(sys.argv[1], 0o777))
attempt("remove", lambda: os.unlink(sys.argv[1] + "/notes.txt"))
`;
      const shown = await attackInside(actor, {
        source,
        args: [actor.home],
        cwd: actor.folder(),
        flags: ["-p", "permissive"],
      });
      expect(shown).toEqual({
        ordinary: { ok: "nothing secret" },
        write: { error: "EROFS" },
        create: { error: "EROFS" },
        authorized: { error: "EROFS" },
        chmod: { error: "EROFS" },
        remove: { error: "EROFS" },
      });
    });

    it("the machine's password files are not there, nor readable where a system folder holds private files", async () => {
      const source = `
for path in ("/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/shadow-", "/etc/ssh/ssh_host_ed25519_key", "/root/.bashrc"):
    attempt(path, lambda: read(path))
attempt("private", lambda: read(sys.argv[1]))
`;
      const attack = { source, args: [join(outside, "secret.txt")], cwd: actor.folder() };
      const outsideResult = await attackOutside(actor, attack);
      // Only root can show that the file is there to be read; for a user the kernel refuses already.
      expect(outsideResult["/etc/shadow"]?.ok?.includes("root:")).toBe(actor.name === "root" ? true : undefined);
      for (const flags of [[], ["-p", "permissive"], ["-p", "restrictive"]]) {
        const inside = await attackInside(actor, { ...attack, flags });
        expect(Object.values(inside).filter((one) => one.ok !== undefined)).toEqual([]);
      }
    });
  });

  it.runIf(actors.length > 1).each(actors)(
    "as $name, another user's files in a shared folder stay unread",
    async (actor) => {
      const other = actors.find((one) => one !== actor) ?? actor;
      const shared = actor.folder("shared");
      chmodSync(shared, 0o755);
      mkdirSync(join(shared, "theirs"));
      writeFileSync(join(shared, "theirs", "private.txt"), SECRET);
      own(other, join(shared, "theirs"));
      chmodSync(join(shared, "theirs", "private.txt"), 0o600);
      const path = join(shared, "theirs", "private.txt");
      const source = `attempt("path", lambda: read(sys.argv[1]))`;
      const attack = { source, args: [path], cwd: actor.folder() };
      expect(leaking(await attackOutside(other, attack), SECRET)).toEqual(["path"]);
      expect(leaking(await attackInside(actor, attack), SECRET)).toEqual([]);
    },
  );
});
