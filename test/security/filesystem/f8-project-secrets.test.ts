import { chmodSync, linkSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Actor, actors } from "../../support/actors.js";
import { runIn } from "../../support/run-cli.js";
import { privateKeyHolding } from "../../support/secret-files.js";
import { attackInside, attackOutside, leaking, runOutside } from "../support/fs-attack.js";
import { PAUSE, runToPause } from "../support/fs-paused-run.js";
import { own, plant, snapshot } from "../support/fs-tree.js";

const SECRET = "planted-secret-of-the-project";
const forms = ["copy", "sync", "mount"] as const;

/** Hidden because of what they hold. */
const keyFiles = ["server.pem", "private.key", "id_rsa", "packages/api/deep/er/id_ed25519"];

const secretFiles = [
  ...keyFiles,
  ".env",
  ".env.local",
  ".ssh/config",
  ".aws/credentials",
  ".kube/config",
  ".gnupg/secring.gpg",
  ".netrc",
  "packages/api/.env",
  "packages/web/.docker/config.json",
  "terraform.tfstate",
];

function plantSecrets(actor: Actor): string {
  const folder = plant(actor, actor.folder(), {
    ...Object.fromEntries(secretFiles.map((name) => [name, SECRET])),
    ...Object.fromEntries(keyFiles.map((name) => [name, privateKeyHolding(SECRET)])),
    ".netrc": `machine example.org login me password ${SECRET}`,
    "packages/web/.docker/config.json": `{"auths": {"r": {"auth": "${SECRET}"}}}`,
    ".npmrc": `//registry.example/:_authToken=${SECRET}`,
    "packages/web/.npmrc": "fund=false",
    "link-to-env": "-> .env",
    "packages/link": "-> ../.aws",
    "packages/proc-link": "-> /proc/self/cwd/.env",
    ".envrc": "-> settings/real-settings",
    "settings/real-settings": SECRET,
    "code.txt": "code",
  });
  linkSync(join(folder, ".env"), join(folder, "packages", "innocent"));
  linkSync(join(folder, ".aws", "credentials"), join(folder, "also-innocent"));
  own(actor, folder);
  return folder;
}

/** Reads whatever can be found, under every name and from every side. */
const readAll = `
def search(top):
    found = []
    for folder, below, files in os.walk(top, followlinks=False):
        for name in files + below:
            path = os.path.join(folder, name)
            try:
                if SECRET in read(path):
                    found.append(path)
            except OSError:
                pass
    return " ".join(found) + (SECRET if found else "")
SECRET = sys.argv[1]
names = sys.argv[2:]
for name in names:
    attempt("path " + name, lambda: read(name))
    attempt("dots " + name, lambda: read("packages/../packages/api/../../" + name))
    attempt("proc " + name, lambda: read("/proc/self/cwd/" + name))
    def by_descriptor():
        fd = os.open(os.path.dirname(name) or ".", os.O_RDONLY)
        return read(f"/proc/self/fd/{fd}/{os.path.basename(name)}")
    attempt("descriptor " + name, by_descriptor)
attempt("search", lambda: search("."))
def copied():
    os.system("cp -rL . /tmp/copy 2>/dev/null; cp -rP . /tmp/copied 2>/dev/null")
    return search("/tmp/copy") + search("/tmp/copied")
attempt("copy", copied)
def archived():
    os.system("tar -cf /tmp/archive.tar . 2>/dev/null")
    return SECRET if SECRET.encode() in open("/tmp/archive.tar", "rb").read() else ""
attempt("archive", archived)
os.system("rm -rf /tmp/copy /tmp/copied /tmp/archive.tar")
`;

/** Changes what is around the secrets, then looks again. */
const moveAround = `
SECRET = sys.argv[1]
def moved():
    os.system("mv packages elsewhere")
    return read("elsewhere/api/.env")
def over_name():
    os.makedirs(".aws")
    return " ".join(read(".aws/" + name) for name in os.listdir(".aws")) + read(".aws/credentials")
def over_file():
    write(".env", "")
    os.unlink(".env")
    return read(".env")
def hard():
    os.link(".env", "hard")
    return read("hard")
def renamed():
    os.rename(".env", "renamed")
    return read("renamed")
def exchanged():
    write("plain")
    call(316 if x86 else 276, -100, b"plain", -100, b".env", 2)
    return read("plain")
attempt("hard link", hard)
attempt("rename", renamed)
attempt("exchange", exchanged)
attempt("parent moved", moved)
attempt("folder over the name", over_name)
attempt("file over the name", over_file)
attempt("mode", lambda: (os.chmod("unreadable", 0o755), read("unreadable/notes"))[1])
`;

describe("F8 secrets in the project are hidden", () => {
  describe.each(actors)("as $name", (actor) => {
    it("the attack finds all of them where there is no sandbox", async () => {
      const args = [SECRET, ...secretFiles, "packages/innocent", "also-innocent"];
      const attempts = await attackOutside(actor, { source: readAll, args, cwd: plantSecrets(actor) });
      expect(leaking(attempts, SECRET)).toEqual(Object.keys(attempts).sort());
      const cwd = plantSecrets(actor);
      plant(actor, join(cwd, "unreadable"), { notes: SECRET });
      const moved = await attackOutside(actor, { source: moveAround, args: [SECRET], cwd });
      expect(leaking(moved, SECRET)).toEqual(expect.arrayContaining(["hard link", "mode", "parent moved", "rename"]));
    });

    it.each(forms)("by any path, as %s", async (form) => {
      const names = [...secretFiles, "packages/innocent", "also-innocent", "link-to-env", "packages/link/credentials"];
      const args = [SECRET, ...names, ".npmrc", "packages/proc-link", ".envrc", "settings/real-settings"];
      const cwd = plantSecrets(actor);
      const attempts = await attackInside(actor, { source: readAll, args, cwd, flags: ["--workspace", form] });
      expect(leaking(attempts, SECRET)).toEqual([]);
      expect(Object.keys(attempts).length).toBe(names.length * 4 + 19);
    });

    it.each(forms)("when what is around them is moved, linked or made anew, as %s", async (form) => {
      const cwd = plantSecrets(actor);
      // Root reads a folder whatever its mode, so for root there is nothing in it that has to be hidden.
      plant(actor, join(cwd, "unreadable"), { notes: actor.name === "root" ? "plain" : SECRET });
      chmodSync(join(cwd, "unreadable"), 0o000);
      const flags = ["--workspace", form];
      const attempts = await attackInside(actor, { source: moveAround, args: [SECRET], cwd, flags });
      expect(leaking(attempts, SECRET)).toEqual([]);
    });

    it("and stay as they are on the host when sync carries the rest", async () => {
      const cwd = plantSecrets(actor);
      const before = snapshot(cwd);
      await attackInside(actor, { source: moveAround, args: [SECRET], cwd, flags: ["--workspace", "sync"] });
      const after = snapshot(cwd);
      for (const name of secretFiles) expect(after[name], name).toBe(before[name]);
    });

    it("as a mount beside the workspace too, read-only and writable", async () => {
      const mounted = plantSecrets(actor);
      const names = [...secretFiles, "packages/innocent", "also-innocent"];
      for (const access of ["", ":ro"]) {
        const attempts = await attackInside(actor, {
          source: readAll,
          args: [SECRET, ...names],
          cwd: actor.folder(),
          flags: ["-v", `${mounted}:/data${access}`, "-w", "/data"],
        });
        expect(leaking(attempts, SECRET)).toEqual([]);
      }
      const named = await runIn(actor, ["-v", `${mounted}/.env:/env:ro`, "cat", "/env"], { cwd: actor.folder() });
      expect(named).toMatchObject({ status: 125, stdout: "" });
    });

    it.each(["copy", "sync"])("when the host replaces them while the command runs, as %s", async (form) => {
      const cwd = plantSecrets(actor);
      const script = `cat .env packages/api/.env; ls -a packages/api; ${PAUSE}; cat .env packages/api/.env .aws/credentials; grep -r ${SECRET} . ; true`;
      expect((await runOutside(actor, ["grep", "-rl", SECRET, "."], cwd)).stdout).toContain("./packages/api/.env");
      const run = await runToPause(actor, ["--workspace", form], script, cwd);
      writeFileSync(join(cwd, "new-env"), `${SECRET} again`);
      writeFileSync(join(cwd, "packages", "api", "new-env"), `${SECRET} again`);
      own(actor, cwd);
      renameSync(join(cwd, "new-env"), join(cwd, ".env"));
      renameSync(join(cwd, "packages", "api", "new-env"), join(cwd, "packages", "api", ".env"));
      const ended = await run.finish();
      expect(ended.status).toBe(0);
      expect(ended.stdout).not.toContain(SECRET);
    });

    it("a file that only may hold a secret is shown where it does not", async () => {
      const cwd = plantSecrets(actor);
      const shown = await runIn(actor, ["sh", "-c", "cat packages/web/.npmrc code.txt; cat .npmrc"], { cwd });
      expect(shown.stdout).toBe("fund=falsecode");
    });

    it("nothing of the project is there without a workspace", async () => {
      const cwd = plantSecrets(actor);
      const args = [SECRET, ...secretFiles];
      const attempts = await attackInside(actor, { source: readAll, args, cwd, flags: ["--workspace", "none"] });
      expect(leaking(attempts, SECRET)).toEqual([]);
    });
  });
});
