import { existsSync, mkdirSync, renameSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Actor, actors } from "../../support/actors.js";
import { runIn } from "../../support/run-cli.js";
import { attackInside, attackOutside, successful } from "../support/fs-attack.js";
import { PAUSE, runToPause } from "../support/fs-paused-run.js";
import { plant } from "../support/fs-tree.js";

const SECRET = "cGxhbnRlZC1zZWNyZXQtb2YtdGhlLXByb2plY3Q";
const mount = ["--workspace", "mount"];

/** Hidden because of the directory that they lie in, or because of their own names. */
const secrets: Readonly<Record<string, string>> = {
  ".docker/config.json": `{"auths":{"https://index.docker.io/v1/":{"auth":"${SECRET}"}}}`,
  ".cargo/credentials.toml": `[registry]\ntoken = "${SECRET}"\n`,
  ".m2/settings.xml": `<settings><servers><server><password>${SECRET}</password></server></servers></settings>`,
  ".config/gcloud/access_tokens.db": SECRET,
  "home/user/.config/gh/hosts.yml": `github.com:\n    oauth_token: ${SECRET}\n`,
  "sub/.env": `KEY=${SECRET}\n`,
  "a/b/c/.env": `KEY=${SECRET}\n`,
};

const parents = [...new Set(Object.keys(secrets).flatMap(ancestors))];

function ancestors(path: string): readonly string[] {
  const names = path.split("/").slice(0, -1);
  return names.map((_, index) => names.slice(0, index + 1).join("/"));
}

function project(actor: Actor): string {
  return plant(actor, actor.folder(), { ...secrets, "plain/nested/code.txt": "code", "code.txt": "code" });
}

/** Takes each of these directories to another path by every call that renames. */
const renameParents = `
def exchange(path):
    os.makedirs("exchanged", exist_ok=True)
    call(316 if x86 else 276, -100, b"exchanged", -100, path.encode(), 2)
def by_descriptor(path):
    parent, name = os.path.split(path)
    fd = os.open(parent or ".", os.O_RDONLY | os.O_DIRECTORY)
    os.rename(name, "taken-by-descriptor", src_dir_fd=fd, dst_dir_fd=fd)
    os.rename("taken-by-descriptor", name, src_dir_fd=fd, dst_dir_fd=fd)
def there_and_back(path, other):
    os.rename(path, other)
    os.rename(other, path)
os.makedirs("elsewhere", exist_ok=True)
for path in sys.argv[1:]:
    attempt("rename " + path, lambda: there_and_back(path, path + "-away"))
    attempt("to another directory " + path, lambda: there_and_back(path, "elsewhere/taken"))
    attempt("by descriptor " + path, lambda: by_descriptor(path))
    attempt("exchange " + path, lambda: (exchange(path), exchange(path)))
for path in reversed(sys.argv[1:]):
    attempt("for good " + path, lambda: os.rename(path, os.path.join(os.path.dirname(path), "taken-" + os.path.basename(path).strip("."))))
`;

const attackOf = (cwd: string) => ({ source: renameParents, args: parents, cwd });
const findSecret = ["grep", "-rlF", SECRET, "."];

describe("F9 the parent of a hidden file keeps its name in a live project", () => {
  describe.each(actors)("as $name", (actor) => {
    it("outside, every way of renaming it works", async () => {
      const cwd = project(actor);
      const attempts = await attackOutside(actor, attackOf(cwd));
      expect(successful(attempts)).toEqual(Object.keys(attempts).sort());
      expect(existsSync(join(cwd, "taken-docker", "config.json"))).toBe(true);
    });

    it("no call renames it, and the next sandbox finds no secret", async () => {
      const cwd = project(actor);
      const attempts = await attackInside(actor, { ...attackOf(cwd), flags: mount });
      expect(successful(attempts)).toEqual([]);
      // gVisor's kernel does not know exchanges (EINVAL).
      const refused = ["EBUSY", "EXDEV", "EINVAL"];
      expect(Object.values(attempts).filter(({ error = "" }) => !refused.includes(error))).toEqual([]);
      for (const form of ["mount", "copy"]) {
        const next = await runIn(actor, ["--workspace", form, ...findSecret], { cwd });
        expect(next).toMatchObject({ stdout: "", status: 1 });
      }
    });

    it("a copy that is in use meanwhile finds no secret either", async () => {
      const cwd = project(actor);
      const script = `${PAUSE}; ${findSecret.join(" ")}`;
      const copy = await runToPause(actor, ["--workspace", "copy"], script, cwd);
      await attackInside(actor, { ...attackOf(cwd), flags: mount });
      expect(await copy.finish()).toMatchObject({ stdout: "" });
    });

    it("which it would, if such a rename succeeded: the host's own does", async () => {
      const cwd = project(actor);
      const copy = await runToPause(actor, ["--workspace", "copy"], `${PAUSE}; ${findSecret.join(" ")}`, cwd);
      renameSync(join(cwd, "sub"), join(cwd, "renamed-by-the-host"));
      expect((await copy.finish()).stdout).toContain("renamed-by-the-host/.env");
    });

    it("directories without hidden and protected files are renamed, moved and removed as ever", async () => {
      const cwd = project(actor);
      mkdirSync(join(cwd, "empty"));
      const script =
        "set -e; mv plain/nested plain/renamed; mv plain plain2; mkdir fresh; mv plain2 fresh/plain; rmdir empty; " +
        "mv code.txt plain.txt; mv plain.txt sub/code.txt; echo new > sub/other; mv sub/other sub/another";
      const done = await runIn(actor, [...mount, "sh", "-c", script], { cwd });
      expect(done).toMatchObject({ status: 0, stderr: expect.not.stringContaining("mv:") });
      for (const path of ["fresh/plain/renamed/code.txt", "sub/code.txt", "sub/another"]) {
        expect(existsSync(join(cwd, path)), path).toBe(true);
      }
      expect(existsSync(join(cwd, "empty"))).toBe(false);
    });
  });
});
