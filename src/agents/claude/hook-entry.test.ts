import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Launch } from "../agent.js";
import { hookGroup } from "./hook-entry.js";

let folder = "";
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "hook entry-")));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** A program that says its name, and what a `node` in PATH would be. */
function program(name: string, says: string): string {
  const path = join(folder, name, "agentkernel");
  mkdirSync(join(folder, name), { recursive: true });
  writeFileSync(path, `#!/bin/sh\necho "${says} $* $(command -v planted)"\n`);
  chmodSync(path, 0o755);
  return path;
}

function call(launch: Launch, folders: readonly string[], shell = "sh") {
  const command = (hookGroup(launch).hooks[0] as { readonly command: string }).command;
  const PATH = [...folders.map((name) => (name.startsWith("/") ? name : join(folder, name))), "/usr/bin:/bin"].join(
    ":",
  );
  const env = { PATH, CLAUDE_PROJECT_DIR: join(folder, "project") };
  mkdirSync(join(folder, "project"), { recursive: true });
  const { stdout, stderr, status } = spawnSync(shell, ["-c", command], { env, cwd: folder, encoding: "utf8" });
  return { stdout, stderr, status };
}

const shells = ["sh", "bash"].filter((shell) => spawnSync(shell, ["-c", ":"]).status === 0);

describe.each(shells)("in %s the hook", (shell) => {
  test("is the program in PATH, but none of the project's", () => {
    program("project/node_modules/.bin", "planted");
    program("own bin", "own");
    const folders = ["project/node_modules/.bin", "own bin"];
    expect(call(["agentkernel"], folders, shell)).toMatchObject({ status: 0, stdout: "own hook claude \n" });
  });

  test("is not started by a link of another folder into the project", () => {
    program("project/node_modules/.bin", "planted");
    symlinkSync(join(folder, "project/node_modules/.bin"), join(folder, "linked"));
    mkdirSync(join(folder, "bin"));
    symlinkSync(join(folder, "project/node_modules/.bin/agentkernel"), join(folder, "bin/agentkernel"));
    for (const folders of [["linked"], ["bin"]]) {
      const { status, stdout, stderr } = call(["agentkernel"], folders, shell);
      expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
      expect(stderr).toMatch(/the command was not run/);
    }
  });

  test("starts nothing of the project behind a place that is named", () => {
    const own = program("own", "own");
    const planted = program("project/node_modules/.bin", "planted");
    execFileSync("cp", [planted, join(folder, "project/node_modules/.bin/planted")]);
    expect(call([own], ["project/node_modules/.bin"], shell).stdout).toBe("own hook claude \n");
    expect(call([planted], [], shell)).toMatchObject({ status: 2, stdout: "" });
  });

  test("blocks where there is no program, or it fails", () => {
    expect(call(["agentkernel"], [], shell)).toMatchObject({ status: 2, stdout: "" });
    const own = program("own", "own");
    writeFileSync(own, "#!/bin/sh\nexit 1\n");
    expect(call([own], [], shell)).toMatchObject({ status: 2 });
  });
});
