/** Files that steer what the user runs later reach the project only after a yes, however the project is shown. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { actors } from "../support/actors.js";
import { clientOf } from "../support/daemon.js";
import { makeProject } from "../support/project.js";
import { runCli, runIn } from "../support/run-cli.js";

const files = { "CLAUDE.md": "mine\n", ".github/workflows/ci.yml": "on: push\n", "a.txt": "a\n" };
const attack = [
  "echo evil >> CLAUDE.md",
  "rm -rf .github",
  "mkdir -p .husky .vscode sub .config/autostart node_modules/.bin",
  "echo evil > .husky/pre-commit",
  "echo evil > .vscode/launch.json",
  "echo evil > .vscode/tasks.json",
  "echo evil > sub/AGENTS.md",
  "echo evil > .bashrc",
  "echo evil > .config/autostart/x.desktop",
  "echo evil > node_modules/.bin/git",
  "echo evil > node_modules/.bin/npx",
  "echo fine > node_modules/.bin/tsc",
  "echo new > a.txt",
].join("; ");
const held = [
  ".bashrc",
  ".config/autostart",
  ".config/autostart/x.desktop",
  ".github/workflows",
  ".husky",
  ".husky/pre-commit",
  ".vscode",
  ".vscode/launch.json",
  "CLAUDE.md",
  "node_modules/.bin/npx",
  "sub/AGENTS.md",
];
const HELD_NAME = /agentkernel apply (held-[0-9a-f]{12}) --yes-to all/;

describe.each(actors)("as $name", (actor) => {
  it("sync: such changes are set aside and told, everything else is carried over and counted", async () => {
    const project = makeProject(actor, files);
    const words = ["--json", "--workspace", "sync", "sh", "-c", attack];
    const result = await runIn(actor, words, { cwd: project.path });
    const { changes } = JSON.parse(result.stdout).data;
    expect(changes).toMatchObject({ held, held_as: expect.stringMatching(/^held-/), deleted: [] });
    expect(changes.refused).toEqual([".vscode/tasks.json", "node_modules/.bin/git"]);
    expect(project.content()).toEqual({
      ...files,
      ".config/": "",
      ".github/": "",
      ".github/workflows/": "",
      "a.txt": "new\n",
      "node_modules/": "",
      "node_modules/.bin/": "",
      "node_modules/.bin/tsc": "fine\n",
      "sub/": "",
    });
  });

  it("sync: what is held can be looked at, applied, and removed, and all of it is in the audit log", async () => {
    const project = makeProject(actor, files);
    const state = { XDG_STATE_HOME: actor.ownFolder("state") };
    const client = clientOf({ ...actor, variables: { ...actor.variables, ...state } });
    const cli = (...words: string[]) => runCli(client, words, { cwd: project.path });
    try {
      const ran = await cli("run", "--no-network", "--workspace", "sync", "sh", "-c", attack);
      expect(ran.stderr).toContain("sync: wrote 6 paths in the project");
      expect(ran.stderr).toContain("held for review");
      const name = HELD_NAME.exec(ran.stderr)?.[1] ?? "none";
      const diff = await cli("diff", name);
      expect(diff.stdout).toContain("M CLAUDE.md (waits for review)\n");
      expect(diff.stdout).toContain("D .github/workflows/ci.yml (waits for review)\n");
      expect((await cli("diff", "--patch", name, "CLAUDE.md")).stdout).toContain("\n+evil\n");
      const refused = await cli("apply", name);
      expect(refused.stderr).toContain("wait for a review");
      expect(project.content()).toMatchObject({ "CLAUDE.md": "mine\n" });
      expect((await cli("apply", "--yes-to", "CLAUDE.md", name)).stdout).toBe("M CLAUDE.md\n");
      expect(project.content()).toMatchObject({
        "CLAUDE.md": "mine\nevil\n",
        ".github/workflows/ci.yml": "on: push\n",
      });
      expect(Object.keys(project.content())).not.toContain(".bashrc");
      expect((await cli("apply", "--yes-to", "all", name)).status).toBe(0);
      const { ".vscode/launch.json": launch, ".bashrc": startup, ...rest } = project.content();
      expect([launch, startup]).toEqual(["evil\n", "evil\n"]);
      expect(Object.keys(rest)).not.toContain(".github/workflows/ci.yml");
      expect((await cli("diff", name)).stderr).toContain("nothing is held");
      const audit = (await cli("audit", "list", "--type", "project.write")).stdout;
      expect(audit).toMatch(/by sync: .*a\.txt/);
      expect(audit).toMatch(/by apply: CLAUDE\.md/);
      expect(audit).toMatch(/by apply: .*\.husky\/pre-commit.*-\.github\/workflows\/ci\.yml/);
      const again = await cli("run", "--no-network", "--workspace", "sync", "sh", "-c", "echo more >> CLAUDE.md");
      const second = HELD_NAME.exec(again.stderr)?.[1] ?? "none";
      expect((await cli("remove", second)).status).toBe(0);
      expect((await cli("diff", second)).status).toBe(125);
    } finally {
      await cli("daemon", "stop", "--all");
    }
  });

  it("sync: what the host changes before the yes is a conflict, and stays", async () => {
    const project = makeProject(actor, files);
    const state = { XDG_STATE_HOME: actor.ownFolder("state") };
    const client = clientOf({ ...actor, variables: { ...actor.variables, ...state } });
    const cli = (...words: string[]) => runCli(client, words, { cwd: project.path });
    try {
      const ran = await cli("run", "--no-network", "--workspace", "sync", "sh", "-c", "echo evil > CLAUDE.md");
      writeFileSync(join(project.path, "CLAUDE.md"), "the host's\n");
      const applied = await cli("apply", "--yes-to", "all", HELD_NAME.exec(ran.stderr)?.[1] ?? "none");
      expect(applied.status).toBe(1);
      expect(project.content()).toMatchObject({ "CLAUDE.md": "the host's\n" });
    } finally {
      await cli("daemon", "stop", "--all");
    }
  });

  it("--yes-to lets a kind of file through, never what is protected", async () => {
    const project = makeProject(actor, files);
    const words = ["--yes-to", "CLAUDE.md", "--yes-to", ".vscode", "--workspace", "sync", "sh", "-c", attack];
    const result = await runIn(actor, words, { cwd: project.path });
    expect(result.stderr).toContain("held for review");
    const content = project.content();
    expect(content).toMatchObject({ "CLAUDE.md": "mine\nevil\n", ".vscode/launch.json": "evil\n" });
    expect(Object.keys(content)).not.toContain(".vscode/tasks.json");
    expect(Object.keys(content)).not.toContain(".husky/pre-commit");
    const unknown = await runIn(actor, ["--yes-to", "a.txt", "true"], { cwd: project.path });
    expect(unknown.stderr).toContain('no change of "a.txt" waits for a review');
  });

  it("mount: what is there is read-only unless the user says yes to it", async () => {
    const project = makeProject(actor, files);
    const script = "echo evil >> CLAUDE.md; echo evil >> .github/workflows/ci.yml; mv .github g; echo new > a.txt";
    await runIn(actor, ["--workspace", "mount", "sh", "-c", script], { cwd: project.path });
    expect(project.content()).toMatchObject({ ...files, "a.txt": "new\n" });
    await runIn(actor, ["--workspace", "mount", "--yes-to", "CLAUDE.md", "sh", "-c", script], { cwd: project.path });
    expect(project.content()).toMatchObject({ ...files, "CLAUDE.md": "mine\nevil\n", "a.txt": "new\n" });
  });
});
