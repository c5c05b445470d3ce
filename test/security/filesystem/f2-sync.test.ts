import { existsSync, lstatSync, readdirSync, readFileSync, readlinkSync, statSync } from "node:fs";
import { rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Actor, actors } from "../../support/actors.js";
import { runIn } from "../../support/run-cli.js";
import { privateKeyHolding } from "../../support/secret-files.js";
import { runOutside } from "../support/fs-attack.js";
import { PAUSE, runToPause } from "../support/fs-paused-run.js";
import { plant, snapshot } from "../support/fs-tree.js";

const sync = ["--workspace", "sync"];

function inside(actor: Actor, script: string, cwd: string) {
  return runIn(actor, [...sync, "sh", "-c", script], { cwd });
}

/** Shell commands that do damage in a project, and whether they did. */
interface Damage {
  readonly name: string;
  readonly script: string;
  readonly done: (project: string) => boolean;
}

const text = (...parts: readonly string[]): string => {
  const path = join(...parts);
  return existsSync(path) && statSync(path).isFile() ? readFileSync(path, "utf8") : "";
};

const damages: readonly Damage[] = [
  {
    name: "a hook in a .git that was removed and made anew",
    script: "rm -rf .git && mkdir -p .git/hooks && echo attacked > .git/hooks/pre-commit",
    done: (project) => text(project, ".git/hooks/pre-commit").includes("attacked"),
  },
  {
    name: "a hook in a .git that was moved away and back",
    script: "mv .git away && mv away .git; echo attacked > .git/hooks/pre-commit",
    done: (project) => text(project, ".git/hooks/pre-commit").includes("attacked"),
  },
  {
    name: "git's configuration",
    script: "rm .git/config; echo attacked > .git/config",
    done: (project) => text(project, ".git/config").includes("attacked"),
  },
  {
    name: "git's configuration, taken away",
    script: "rm -rf .git",
    done: (project) => !existsSync(join(project, ".git/config")),
  },
  {
    name: "a .git that is a link to a folder with hooks",
    script: "cd fresh; mkdir -p repository/hooks; echo attacked > repository/hooks/pre-commit; ln -s repository .git",
    done: (project) => text(project, "fresh/.git/hooks/pre-commit").includes("attacked"),
  },
  {
    name: "a .git file that names a folder with hooks",
    script: "cd fresh; mkdir -p repository/hooks; echo 'gitdir: repository' > .git",
    done: (project) => text(project, "fresh/.git").includes("gitdir"),
  },
  {
    name: "a common folder of git elsewhere",
    script: "mkdir -p fresh/.git elsewhere; echo ../../elsewhere > fresh/.git/commondir",
    done: (project) => existsSync(join(project, "fresh/.git/commondir")),
  },
  {
    name: "settings of agents that are not there yet",
    script: "mkdir -p .claude fresh/.codex; echo attacked > .claude/settings.json; echo attacked > fresh/.codex/x",
    done: (project) => existsSync(join(project, ".claude")) || existsSync(join(project, "fresh/.codex")),
  },
  {
    name: "settings of agents as a link",
    script: "mkdir x; echo attacked > x/settings.json; ln -s x .gemini; ln -s x/settings.json .mcp.json",
    done: (project) => readdirSync(project).some((name) => name === ".gemini" || name === ".mcp.json"),
  },
  {
    name: "settings of an agent, through the folder that a link of theirs leads to",
    script: "echo attacked > shared/settings.json",
    done: (project) => text(project, ".opencode/settings.json").includes("attacked"),
  },
  {
    name: "our own configuration",
    script: "echo attacked > agentkernel.toml; echo attacked > fresh/x.policy.yaml",
    done: (project) =>
      existsSync(join(project, "agentkernel.toml")) || existsSync(join(project, "fresh/x.policy.yaml")),
  },
  {
    name: "a program that npm puts first in PATH and hooks of agents start",
    script:
      "mkdir -p node_modules/.bin fresh/node_modules/.bin; echo a > node_modules/.bin/agentkernel; cp node_modules/.bin/agentkernel fresh/node_modules/.bin",
    done: (project) =>
      existsSync(join(project, "node_modules/.bin/agentkernel")) ||
      existsSync(join(project, "fresh/node_modules/.bin/agentkernel")),
  },
  {
    name: "a hidden file, overwritten",
    script: "rm -f .env; echo attacked > .env; echo attacked > fresh/.env; echo attacked > id_rsa",
    done: (project) =>
      ["fresh/.env", ".env", "id_rsa"].some(
        (name) => existsSync(join(project, name)) && text(project, name).includes("attacked"),
      ),
  },
  {
    name: "a hidden folder, taken away with what is above it",
    script: "rm -rf nested; ln -s fresh nested",
    done: (project) => text(project, "nested/.aws/credentials") !== "SECRET=1",
  },
];

function plantProject(actor: Actor): string {
  return plant(actor, actor.folder(), {
    ".git/config": "[core]",
    ".git/HEAD": "ref: refs/heads/main",
    ".git/hooks/pre-commit": "the user's own",
    ".env": "SECRET=1",
    id_rsa: privateKeyHolding("key"),
    "nested/.aws/credentials": "SECRET=1",
    "nested/code.txt": "code",
    ".opencode": "-> shared",
    "shared/settings.json": "{}",
    fresh: null,
  });
}

describe("F2 what sync carries over does no damage", () => {
  describe.each(actors)("as $name", (actor) => {
    it.each(damages)("$name", async ({ script, done }) => {
      const outside = plantProject(actor);
      await runOutside(actor, ["sh", "-c", script], outside);
      expect(done(outside)).toBe(true);
      const project = plantProject(actor);
      await inside(actor, script, project);
      expect(done(project)).toBe(false);
    });

    it("a setuid bit, a pipe, a socket and a device stay behind, and what stays behind is said", async () => {
      const script =
        "echo x > program; chmod 6755 program; mkdir -m 2777 folder; mkfifo pipe; " +
        "python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"door\")'; mknod null c 1 3; echo x > carried";
      const project = actor.folder();
      const outside = actor.folder();
      await runOutside(actor, ["sh", "-c", script], outside);
      expect(readdirSync(outside)).toEqual(expect.arrayContaining(["carried", "door", "folder", "pipe", "program"]));
      expect(lstatSync(join(outside, "program")).mode & 0o7777).toBe(0o6755);
      const result = await inside(actor, script, project);
      expect(readdirSync(project).sort()).toEqual(["carried", "folder", "program"]);
      expect(lstatSync(join(project, "program")).mode & 0o7777).toBe(0o755);
      expect(lstatSync(join(project, "folder")).mode & 0o7000).toBe(0);
      expect(result.stderr).toMatch(/not carried over.*door.*pipe/);
    });

    it("a folder that became a link is not written through, in this run or the next", async () => {
      const target = plant(actor, actor.folder("victim"), { victim: "original" });
      const project = plant(actor, actor.folder(), { "folder/victim": "the project's own" });
      const before = snapshot(target);
      await inside(actor, `rm -rf folder && ln -s ${target} folder && echo attacked > folder/victim`, project);
      expect(readlinkSync(join(project, "folder"))).toBe(target);
      await inside(actor, `mkdir -p ${target}; echo attacked > folder/victim; echo attacked > folder/new`, project);
      await inside(actor, "rm folder && mkdir folder && echo carried > folder/victim", project);
      expect(snapshot(target)).toEqual(before);
      expect(readFileSync(join(project, "folder/victim"), "utf8")).toBe("carried\n");
    });

    it("a link to a file is replaced, never its target", async () => {
      const target = plant(actor, actor.folder("victim"), { victim: "original" });
      const project = plant(actor, actor.folder(), { link: `-> ${target}/victim` });
      const script = "rm link; echo attacked > link";
      await inside(actor, script, project);
      expect(readFileSync(join(target, "victim"), "utf8")).toBe("original");
      expect(readFileSync(join(project, "link"), "utf8")).toBe("attacked\n");
    });

    it("what the host changed meanwhile stays as the host has it, and is said", async () => {
      const target = plant(actor, actor.folder("victim"), { victim: "original" });
      const project = plant(actor, actor.folder(), {
        edited: "before",
        untouched: "before",
        "swapped/victim": "before",
        "emptied/old": "before",
      });
      const script =
        `echo sandbox > swapped/victim; echo sandbox > created; ${PAUSE}; ` +
        "for name in edited untouched; do echo sandbox > $name; done; rm -rf emptied";
      const run = await runToPause(actor, sync, script, project);
      await writeFile(join(project, "edited"), "host");
      await writeFile(join(project, "created"), "host");
      await writeFile(join(project, "emptied/new"), "host");
      await rm(join(project, "swapped"), { recursive: true });
      await symlink(target, join(project, "swapped"));
      const result = await run.finish();
      expect(result.status).toBe(0);
      expect(readFileSync(join(project, "edited"), "utf8")).toBe("host");
      expect(readFileSync(join(project, "created"), "utf8")).toBe("host");
      expect(readFileSync(join(project, "emptied/new"), "utf8")).toBe("host");
      expect(readFileSync(join(target, "victim"), "utf8")).toBe("original");
      expect(readlinkSync(join(project, "swapped"))).toBe(target);
      expect(readFileSync(join(project, "untouched"), "utf8")).toBe("sandbox\n");
      expect(result.stderr).toMatch(/changed on the host meanwhile: .*created.*edited.*emptied\/new.*swapped/);
    });

    it("names of any bytes are carried as they are, those with control characters stay inside, and all are shown escaped", async () => {
      const project = plant(actor, actor.folder(), { "evil\u001b[2J/.env": "SECRET=1" });
      const script =
        "import os; [open(name, 'w').close() for name in (b'new\\nline', b'\\x1b[31mred', b'\\xff\\xfe', b'-rf', b'x' * 255)];" +
        "open('evil\\x1b[2J/.env', 'w').close()";
      const result = await runIn(actor, [...sync, "python3", "-c", script], { cwd: project });
      expect(readdirSync(project, { encoding: "latin1" }).sort()).toEqual(
        ["-rf", "evil\u001b[2J", "x".repeat(255), "ÿþ"].sort(),
      );
      for (const name of ["evil", "new\\nline", "31mred"]) expect(result.stderr).toContain(name);
      expect(result.stderr).not.toContain("\u001b");
    });

    it("a file of a terabyte with nothing in it stays small, and is not read through when it comes again", async () => {
      const project = actor.folder();
      await inside(actor, "truncate -s 1T huge", project);
      expect(statSync(join(project, "huge")).size).toBe(2 ** 40);
      const again = await runIn(actor, [...sync, "sh", "-c", "rm huge; truncate -s 1T huge"], {
        cwd: project,
        deadlineMs: 10_000,
      });
      expect(again.status).toBe(0);
      expect(statSync(join(project, "huge")).blocks).toBeLessThan(1024);
    });

    it("folders in folders without end neither break the carrying nor the next start", async () => {
      const project = actor.folder();
      const script = "import os\nfor _ in range(2500):\n    os.mkdir('deep')\n    os.chdir('deep')\nopen('.env', 'w')";
      const made = await runIn(actor, [...sync, "python3", "-c", `${script}\nopen('/workspace/carried', 'w')`], {
        cwd: project,
      });
      expect(made.status).toBe(0);
      expect(made.stderr).toMatch(/not carried over.*deep\/deep/);
      expect(readdirSync(project).sort()).toEqual(["carried", "deep"]);
      const deep = actor.folder();
      await runOutside(actor, ["python3", "-c", script], deep);
      expect(await inside(actor, "echo started; rm -rf deep; echo x > new", deep)).toMatchObject({
        status: 0,
        stdout: "started\n",
      });
      expect(readdirSync(deep)).toContain("new");
      await runOutside(actor, ["rm", "-rf", "deep"], deep);
    });
  });
});
