/** Directories on PATH that are shown with the host's programs lead to nothing else. */
import { linkSync, mkdirSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Actor, actors } from "../../support/actors.js";
import { attackInside, attackOutside, leaking } from "../support/fs-attack.js";
import { own, plant } from "../support/fs-tree.js";

const SECRET = "planted-secret-beside-a-toolchain";
const SYSTEM = "/usr/bin:/bin";

/** Reads all there is apart from the system's own programs, also through symlinks and by `..`. */
const readEverything = `
found = []
def look(top):
    for folder, below, files in os.walk(top):
        if folder in ("/usr", "/proc", "/sys"):
            below.clear()
            continue
        for name in files + below:
            path = os.path.join(folder, name)
            for spelling in (path, path + "/../../credentials.toml", path + "/id_ed25519"):
                try:
                    # Only plain files: reading a pipe or a terminal would wait.
                    if stat.S_ISREG(os.stat(spelling).st_mode) and SECRET in read(spelling):
                        found.append(spelling)
                except OSError:
                    pass
SECRET = sys.argv[1]
for top in sys.argv[2:]:
    look(top)
attempt("found", lambda: "\\n".join(found))
attempt("tools", lambda: sorted(os.listdir(sys.argv[2] + sys.argv[3])) if len(sys.argv) > 3 else "")
`;

function toolchains(actor: Actor): string {
  const home = actor.ownFolder("home");
  plant(actor, home, {
    ".ssh/id_ed25519": SECRET,
    ".cargo/credentials.toml": SECRET,
    ".cargo/config.toml": SECRET,
    ".cargo/bin/cargo": "",
    ".cargo/bin/key": `-> ${home}/.ssh/id_ed25519`,
    ".cargo/bin/up": "-> ../credentials.toml",
    ".cargo/bin/home": `-> ${home}`,
    ".rustup/toolchains": `-> ${home}/.ssh`,
    ".nvm/versions/node/v1/bin/node": "",
    ".nvm/versions/node/v1/etc/npmrc": SECRET,
    ".nvm/versions/node/v1/.npmrc": SECRET,
    ".nvm/versions/node/v1/lib": `-> ${home}/.ssh`,
    ".nvm/versions/node/v2": `-> ${home}/.ssh`,
    ".pyenv/versions/3.12/bin/python": "",
    ".pyenv/versions/3.12/pip.conf": SECRET,
    ".pyenv/shims/python": "",
    "bin/script": SECRET,
    ".local/bin/script": SECRET,
  });
  mkdirSync(join(home, ".ssh/bin"));
  linkSync(join(home, ".ssh/id_ed25519"), join(home, ".ssh/bin/key"));
  own(actor, home);
  return home;
}

function homeOf(actor: Actor, home: string, path: readonly string[]): Actor {
  return { ...actor, home, variables: { ...actor.variables, PATH: [...path, SYSTEM].join(":") } };
}

describe("F1 programs that PATH names lead to nothing else of a home", () => {
  describe.each(actors)("as $name", (actor) => {
    it("not by what toolchains have beside their programs, by symlinks in them, or by a home itself on PATH", async () => {
      const home = toolchains(actor);
      const names = [".cargo/bin", ".nvm/versions/node/v1/bin", ".nvm/versions/node/v2/bin", ".pyenv/shims", "bin"];
      const more = [".local/bin", ".ssh", ".ssh/bin", ".cargo", "", ".cargo/bin/home", ".cargo/bin/../../.ssh"];
      const host = homeOf(
        actor,
        home,
        [...names, ...more].map((name) => join(home, name)),
      );
      const attack = { source: readEverything, args: [SECRET, home], cwd: actor.folder() };
      const outside = (await attackOutside(host, attack)).found?.ok?.split("\n") ?? [];
      expect(outside.length).toBeGreaterThan(10);
      for (const flags of [[], ["-p", "restrictive"], ["--workspace", "none"]]) {
        const inside = await attackInside(host, { ...attack, args: [SECRET, "/"], flags });
        expect(inside.found).toEqual({ ok: "" });
        const shown = await attackInside(host, { ...attack, args: [SECRET, home, "/.cargo/bin"], flags });
        expect(shown.tools?.ok).toContain("cargo");
      }
    });
  });
});

describe("F8 a project on PATH shows nothing that is hidden in it", () => {
  describe.each(actors)("as $name", (actor) => {
    const files = { "bin/.env": SECRET, "bin/tool": "", "lib/.env": SECRET, ".env": SECRET };
    const source = `
for name in ("bin/.env", "lib/.env", ".env"):
    attempt(name, lambda: read(name))
    attempt("own " + name, lambda: read(sys.argv[1] + "/" + name))
`;

    it("neither of this run nor of another", async () => {
      const project = plant(actor, actor.folder(), files);
      const host = homeOf(actor, actor.home, [join(project, "bin"), project]);
      const attack = { source, args: [project], cwd: project };
      expect(leaking(await attackOutside(host, attack), SECRET)).toHaveLength(6);
      for (const form of ["copy", "mount", "sync"]) {
        expect(leaking(await attackInside(host, { ...attack, flags: ["--workspace", form] }), SECRET)).toEqual([]);
      }
      // Another project's directory is not the sandbox's own, and nothing would be hidden there.
      expect(leaking(await attackInside(host, { ...attack, cwd: actor.folder() }), SECRET)).toEqual([]);
    });
  });
});

describe("F3 a directory on PATH that a sandbox can write to leads nowhere else in the next run", () => {
  it.each(actors)("as $name", async (actor) => {
    const home = toolchains(actor);
    const project = plant(actor, actor.folder(), { "bin/tool": "" });
    const host = homeOf(actor, home, [join(project, "bin")]);
    const source = `
import shutil
shutil.rmtree("bin")
attempt("plant", lambda: os.symlink(sys.argv[1] + "/.ssh", "bin"))
`;
    const planted = await attackInside(host, { source, args: [home], cwd: project, flags: ["--workspace", "mount"] });
    expect(planted).toEqual({ plant: { ok: "None" } });
    const read = `
for path in sys.argv[1:]:
    attempt(path, lambda: read(path))
`;
    const args = [join(project, "bin/id_ed25519"), join(home, ".ssh/id_ed25519")];
    expect(leaking(await attackOutside(host, { source: read, args, cwd: project }), SECRET)).toEqual([...args].sort());
    for (const cwd of [project, actor.folder()]) {
      expect(leaking(await attackInside(host, { source: read, args, cwd }), SECRET)).toEqual([]);
    }
    // The same where the sandbox makes a virtual environment of it.
    rmSync(join(project, "bin"));
    mkdirSync(join(project, ".venv/bin"), { recursive: true });
    symlinkSync(join(home, ".ssh/bin/key"), join(project, ".venv/bin/python"));
    own(actor, project);
    const byLink = [join(project, ".venv/bin/python"), join(home, ".ssh/bin/key")];
    expect(leaking(await attackInside(host, { source: read, args: byLink, cwd: project }), SECRET)).toEqual([]);
  });
});
