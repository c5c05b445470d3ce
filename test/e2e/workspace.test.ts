import { chmodSync, existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { actors } from "../support/actors.js";
import { makeProject } from "../support/project.js";
import { runIn } from "../support/run-cli.js";

const files = { "a.txt": "a\n", "b.txt": "b\n", ".env": "SECRET=1\n", ".git/config": "[core]\n" };
const change =
  "cat a.txt; echo more >> a.txt; rm b.txt; mkdir d; echo new > d/new; cat .env; echo x >> .git/config; cat a.txt";
const changed = {
  ".env": "SECRET=1\n",
  ".git/": "",
  ".git/config": "[core]\n",
  "a.txt": "a\nmore\n",
  "d/": "",
  "d/new": "new\n",
};

describe.each(actors)("as $name", (actor) => {
  it.each([["copy"], ["default"]])(
    "%s: everything can be changed inside, nothing changes on the host",
    async (form) => {
      const project = makeProject(actor, files);
      const before = project.content();
      const words = form === "default" ? [] : ["--workspace", form];
      const result = await runIn(actor, [...words, "sh", "-c", change], { cwd: project.path });
      expect(result.stdout).toBe("a\na\nmore\n");
      expect(project.content()).toEqual(before);
    },
  );

  it("sync: changes come over at the end, never into hidden or protected files, and that is said", async () => {
    const project = makeProject(actor, files);
    const script = `${change}; echo stolen > .env; echo 'evil' > .mcp.json; exit 0`;
    const result = await runIn(actor, ["--workspace", "sync", "sh", "-c", script], { cwd: project.path });
    expect(result.stdout).toBe("a\na\nmore\n");
    expect(project.content()).toEqual(changed);
    expect(result.stderr).toMatch(/not carried over \(hidden, protected, .*\): .*\.mcp\.json/);
  });

  it("sync: names with control characters stay inside, as with apply", async () => {
    const project = makeProject(actor, { "a.txt": "a\n" });
    const script = "printf x > \"$(printf 'b\\033[2J')\"; mkdir \"$(printf 'c\\tx')\"; echo x > d";
    const result = await runIn(actor, ["--workspace", "sync", "sh", "-c", script], { cwd: project.path });
    expect(Object.keys(project.content())).toEqual(["a.txt", "d"]);
    expect(result.stderr).toContain("not carried over");
    expect(result.stderr).not.toContain("\u001b");
  });

  it("sync: files and directories that the sandbox closed to their owner come over with all that is in them", async () => {
    const project = makeProject(actor, {});
    const script = "mkdir a b; echo x > a/f; echo x > b/f; echo x > c; echo x > d; chmod 555 a; chmod 0 b c";
    const result = await runIn(actor, ["--workspace", "sync", "sh", "-c", script], { cwd: project.path });
    expect(result.stderr).toContain("wrote 6 paths");
    const mode = (name: string) => statSync(join(project.path, name)).mode & 0o777;
    expect(["a", "b", "c"].map(mode)).toEqual([0o555, 0, 0]);
    for (const name of ["a", "b", "c"]) chmodSync(join(project.path, name), 0o700);
    expect(project.content()).toEqual({ "a/": "", "a/f": "x\n", "b/": "", "b/f": "x\n", c: "x\n", d: "x\n" });
  });

  // For root no directory is closed.
  it.skipIf(actor.uid === 0)(
    "sync: where something cannot be written, all else is, and nothing is deleted",
    async () => {
      const project = makeProject(actor, { "a.txt": "work\n", "locked/b.txt": "b\n" });
      chmodSync(join(project.path, "locked"), 0o555);
      const script = "mv a.txt z.txt; echo x > locked/c.txt; echo x > locked/d.txt";
      const result = await runIn(actor, ["--workspace", "sync", "sh", "-c", script], { cwd: project.path });
      expect(result.status).toBe(125);
      expect(result.stderr).toMatch(/locked\/c\.txt could not be carried over: .*, and 1 other path neither/);
      expect(result.stderr).toContain("nothing was deleted");
      expect(project.content()).toMatchObject({ "a.txt": "work\n", "z.txt": "work\n" });
      expect(existsSync(join(project.path, "locked/c.txt"))).toBe(false);
    },
  );

  it("a home directory is no project that a sandbox may write to", async () => {
    const project = makeProject(actor, { ".bashrc": "mine\n" });
    for (const words of [
      ["--workspace", "sync"],
      ["--workspace", "mount"],
      ["--compatibility-mode", "claude"],
    ]) {
      const result = await runIn(actor, [...words, "sh", "-c", "echo evil >> .bashrc"], {
        cwd: project.path,
        env: { HOME: project.path },
      });
      expect(result.status).toBe(125);
      expect(result.stderr).toMatch(/is a home directory.*\n?.*--workspace copy/s);
      expect(project.content()).toEqual({ ".bashrc": "mine\n" });
    }
  });

  it("sync: a command that fails still hands over what it did; one that is killed by the limit too", async () => {
    const project = makeProject(actor, { "a.txt": "a\n" });
    await runIn(actor, ["--workspace", "sync", "sh", "-c", "echo done > done; exit 9"], { cwd: project.path });
    expect(project.content()).toEqual({ "a.txt": "a\n", done: "done\n" });
  });

  it("sync: --json lists what was written and deleted", async () => {
    const project = makeProject(actor, files);
    const result = await runIn(actor, ["--json", "--workspace", "sync", "sh", "-c", change], { cwd: project.path });
    expect(JSON.parse(result.stdout).data.changes).toEqual({
      written: ["a.txt", "d", "d/new"],
      deleted: ["b.txt"],
      conflicts: [],
      refused: [".git/config"],
      held: [],
      held_as: null,
      omitted: 0,
      repositories: [],
    });
  });

  it("mount: the real folder, live", async () => {
    const project = makeProject(actor, files);
    const result = await runIn(actor, ["--workspace", "mount", "sh", "-c", change], { cwd: project.path });
    expect(result.stdout).toBe("a\na\nmore\n");
    expect(project.content()).toEqual(changed);
    expect(result.stderr).toContain("protected-paths: a live mount");
  });

  it("mount and sync: what a sandbox makes belongs to the project's owner", async () => {
    for (const form of ["mount", "sync"]) {
      const project = makeProject(actor, { "a.txt": "a\n" });
      await runIn(actor, ["--workspace", form, "sh", "-c", "echo x > made; mkdir folder"], { cwd: project.path });
      for (const name of ["made", "folder"]) {
        const { uid, gid } = statSync(join(project.path, name));
        expect({ form, name, uid, gid }).toEqual({ form, name, uid: actor.uid, gid: actor.gid });
      }
    }
  });

  it("none: empty", async () => {
    const project = makeProject(actor, files);
    const result = await runIn(actor, ["--workspace", "none", "sh", "-c", "ls -A; echo x > f && cat f"], {
      cwd: project.path,
    });
    expect(result.stdout).toBe("x\n");
    expect(Object.keys(project.content())).not.toContain("f");
  });
});
