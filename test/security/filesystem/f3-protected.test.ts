import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Actor, actors } from "../../support/actors.js";
import { runIn } from "../../support/run-cli.js";
import { attackInside, attackOutside, successful } from "../support/fs-attack.js";
import { PAUSE, runToPause } from "../support/fs-paused-run.js";
import { own, plant, snapshot } from "../support/fs-tree.js";

const mount = ["--workspace", "mount"];

/** Tries to write, replace, remove and go around the protected path that it is given. */
const changeProtected = `
path = sys.argv[1]
parent, name = os.path.split(path)
parent = parent or "."
inner = path + "/planted" if os.path.isdir(path) else path
def anew():
    os.rename(parent, parent + "-away")
    os.makedirs(parent)
    return write(path)
def away_and_back():
    os.rename(parent, parent + "-away")
    os.rename(parent + "-away", parent)
    return write(inner)
def replace():
    write("replacement")
    os.rename("replacement", path)
def exchange():
    os.makedirs("exchanged", exist_ok=True)
    call(316 if x86 else 276, -100, b"exchanged", -100, path.encode(), 2)
def link_over():
    os.symlink("/tmp", "link-over")
    os.rename("link-over", path)
def by_hardlink():
    os.link(inner, "hard")
    return write("hard")
def by_descriptor():
    fd = os.open(parent, os.O_RDONLY | os.O_DIRECTORY)
    return write(f"/proc/self/fd/{fd}/{name}" + inner[len(path):])
attempt("write", lambda: write(inner))
attempt("append", lambda: open(inner, "a").write("attacked"))
attempt("through a descriptor", by_descriptor)
attempt("through proc", lambda: write("/proc/self/cwd/" + inner))
attempt("chmod", lambda: os.chmod(path, 0o777))
attempt("hard link", by_hardlink)
attempt("replace", replace)
attempt("exchange", exchange)
attempt("link over", link_over)
attempt("rename", lambda: os.rename(path, "taken"))
attempt("unlink", lambda: os.unlink(path))
attempt("rmdir", lambda: os.rmdir(path))
attempt("create", lambda: (os.mkdir(path), write(path + "/planted")))
if parent != ".":
    attempt("parent away and back", away_and_back)
    attempt("parent anew", anew)
`;

const present = {
  ".git/config": "[core]\n",
  ".git/hooks/pre-commit": "#!/bin/sh\n",
  ".git/HEAD": "ref: refs/heads/main\n",
  ".claude/settings.json": "{}",
  ".mcp.json": '{"servers": 1}',
  "agentkernel.toml": "[sandbox]\n",
  "deep/er/.git/hooks/post-merge": "#!/bin/sh\n",
  "own.policy.yaml": "version: 1\n",
  "node_modules/.bin/agentkernel": "#!/bin/sh\n",
  "code.txt": "code",
};

const protectedPresent = [
  ".git/config",
  ".git/hooks",
  ".git/hooks/pre-commit",
  ".claude",
  ".claude/settings.json",
  ".mcp.json",
  "agentkernel.toml",
  "deep/er/.git/hooks",
  "own.policy.yaml",
  "node_modules/.bin/agentkernel",
];

const protectedAbsent = [
  ".git/hooks",
  ".git/hooks/pre-commit",
  ".git/config",
  ".claude/settings.json",
  ".codex/config.toml",
  ".gemini/settings.json",
  ".opencode/x",
  ".mcp.json",
  "opencode.json",
  "agentkernel.toml",
];

function project(actor: Actor, tree: Readonly<Record<string, string>>): string {
  return plant(actor, actor.folder(), tree);
}

describe("F3 protected files cannot be changed or made in a live workspace", () => {
  describe.each(actors)("as $name", (actor) => {
    it.each(protectedPresent)("%s, which is there", async (path) => {
      const outside = await attackOutside(actor, {
        source: changeProtected,
        args: [path],
        cwd: project(actor, present),
      });
      expect(successful(outside).length).toBeGreaterThan(3);
      const cwd = project(actor, present);
      await attackInside(actor, { source: changeProtected, args: [path], cwd, flags: mount });
      expect(snapshot(cwd)).toMatchObject(snapshot(project(actor, present)));
    });

    it.each(protectedAbsent)("%s, which is not there", async (path) => {
      const source = `
path = sys.argv[1]
parent = os.path.dirname(path) or "."
def made():
    os.makedirs(parent, exist_ok=True)
    return write(path)
def linked():
    os.makedirs("elsewhere", exist_ok=True)
    write("elsewhere/" + os.path.basename(path))
    os.symlink("elsewhere", parent) if parent != "." else os.symlink("elsewhere/" + path, path)
def moved():
    os.makedirs("prepared/" + parent, exist_ok=True)
    write("prepared/" + path)
    top = path.split("/")[0]
    os.rename("prepared/" + top, top)
attempt("remove", lambda: os.rmdir(path.split("/")[0]))
attempt("unlink", lambda: os.unlink(path))
attempt("linked", linked)
attempt("moved", moved)
attempt("made", made)
`;
      const tree = { "code.txt": "code" };
      const outsideFolder = project(actor, tree);
      await attackOutside(actor, { source, args: [path], cwd: outsideFolder });
      expect(existsSync(join(outsideFolder, path))).toBe(true);
      const cwd = project(actor, tree);
      await attackInside(actor, { source, args: [path], cwd, flags: mount });
      const top = path.split("/")[0] ?? path;
      expect(readdirSync(cwd)).not.toContain(top);
      expect(readFileSync(join(cwd, "code.txt"), "utf8")).toBe("code");
    });

    it("what holds protected names free is gone after the run, and what the user wrote there stays", async () => {
      const cwd = project(actor, { "code.txt": "code" });
      const run = await runToPause(actor, mount, PAUSE, cwd);
      expect(readdirSync(cwd)).toEqual(expect.arrayContaining([".claude", ".git", ".mcp.json", "agentkernel.toml"]));
      writeFileSync(join(cwd, ".mcp.json"), "the user's");
      writeFileSync(join(cwd, ".claude", "settings.json"), "the user's");
      own(actor, cwd);
      expect(await run.finish()).toMatchObject({ status: 0 });
      expect(readdirSync(cwd).sort()).toEqual([".claude", ".mcp.json", "code.txt"]);
      expect(readFileSync(join(cwd, ".mcp.json"), "utf8")).toBe("the user's");
      expect(readFileSync(join(cwd, ".claude", "settings.json"), "utf8")).toBe("the user's");
    });

    it("holds while another sandbox on the same project comes to its end", async () => {
      const cwd = project(actor, { "code.txt": "code" });
      const first = await runToPause(actor, mount, PAUSE, cwd);
      const script = `${PAUSE}; mkdir -p .claude; echo attacked > .claude/settings.json; echo attacked > .mcp.json`;
      const second = await runToPause(actor, mount, script, cwd);
      await first.finish();
      await second.finish();
      expect(existsSync(join(cwd, ".claude", "settings.json"))).toBe(false);
      expect(existsSync(join(cwd, ".mcp.json"))).toBe(false);
    });

    it("a .git that is a file, as in a worktree, does not stop a live workspace and cannot be changed", async () => {
      const cwd = project(actor, { ".git": "gitdir: /elsewhere", "code.txt": "code" });
      const script =
        "echo changed > code.txt; echo attacked > .git; rm -f .git; mv .git away; echo attacked > .git; true";
      const result = await runIn(actor, [...mount, "sh", "-c", script], { cwd });
      expect(result.status).toBe(0);
      expect(readFileSync(join(cwd, ".git"), "utf8")).toBe("gitdir: /elsewhere");
      expect(readFileSync(join(cwd, "code.txt"), "utf8")).toBe("changed\n");
    });

    it("what a protected link leads to cannot be changed under its own name", async () => {
      const cwd = project(actor, { ".claude": "-> shared", "shared/settings.json": "{}" });
      const script = "echo attacked > shared/settings.json; mv shared away; rm .claude; true";
      await runIn(actor, [...mount, "sh", "-c", script], { cwd });
      expect(readFileSync(join(cwd, ".claude", "settings.json"), "utf8")).toBe("{}");
    });

    it("a writable mount of a protected folder is refused", async () => {
      const cwd = project(actor, present);
      for (const source of [".git", ".git/hooks", ".claude", "agentkernel.toml"]) {
        const result = await runIn(actor, ["-v", `${source}:/data`, "true"], { cwd });
        expect(result).toMatchObject({ status: 125 });
        expect(result.stderr).toContain("protected");
      }
    });
  });
});
