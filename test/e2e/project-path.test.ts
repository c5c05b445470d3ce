/** The project is where the host has it, too: what was made outside and names files by that path works inside. */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { actors } from "../support/actors.js";
import { makeProject } from "../support/project.js";
import { runIn } from "../support/run-cli.js";

const files = { "src/main.py": "print('main')\n", "lib/own.py": "value = 'installed'\n", ".env": "KEY=1\n" };

describe.each(actors)("as $name", (actor) => {
  it("a virtual environment with an editable install, made on the host, works inside", async () => {
    const project = makeProject(actor, files);
    execFileSync("/usr/bin/python3", ["-m", "venv", "--without-pip", join(project.path, ".venv")]);
    const [folder = ""] = execFileSync(join(project.path, ".venv/bin/python"), [
      "-c",
      "import site; print(site.getsitepackages()[0])",
    ])
      .toString()
      .split("\n");
    execFileSync("sh", ["-c", 'echo "$1" > "$2/own.pth"', "sh", join(project.path, "lib"), folder]);
    const script = `${project.path}/.venv/bin/python -c 'import own, sys; print(own.value, sys.prefix)'`;
    const result = await runIn(actor, ["sh", "-c", script], { cwd: project.path });
    expect(result).toMatchObject({ status: 0, stdout: `installed ${project.path}/.venv\n` });
  });

  it("what is hidden is hidden by that path too, and sync carries over what is written there", async () => {
    const project = makeProject(actor, files);
    const script = `cat '${project.path}/.env' || echo hidden; echo new > '${project.path}/src/new.py'`;
    const result = await runIn(actor, ["--workspace", "sync", "sh", "-c", script], { cwd: project.path });
    expect(result.stdout).toBe("hidden\n");
    expect(project.content()["src/new.py"]).toBe("new\n");
  });

  it("--dir names the project, and -w a directory in it", async () => {
    const project = makeProject(actor, files);
    const elsewhere = actor.folder("elsewhere");
    const result = await runIn(actor, ["--dir", project.path, "-w", "src", "sh", "-c", "pwd; ls"], { cwd: elsewhere });
    expect(result).toMatchObject({ status: 0, stdout: "/workspace/src\nmain.py\n" });
    const refused = await runIn(actor, ["--dir", project.path, "-w", "../etc", "true"], { cwd: elsewhere });
    expect(refused.status).toBe(125);
    expect(refused.stderr).toContain('--workdir: "../etc" is no path in the sandbox');
    const missing = await runIn(actor, ["--dir", "not-there", "true"], { cwd: elsewhere });
    expect(missing.status).toBe(125);
    expect(missing.stderr).toContain("--dir: not-there does not exist");
  });

  it("a project in a directory that the sandbox has for itself is at /workspace only, and that is said", async () => {
    const result = await runIn(actor, ["--dir", "/usr/share/doc", "sh", "-c", "ls /workspace | head -1"], {
      cwd: actor.folder("elsewhere"),
    });
    expect(result.status).toBe(0);
    expect(result.stderr).toContain("the project is at /workspace only, not at /usr/share/doc");
  });
});
