import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { actors } from "../support/actors.js";
import { makeProject } from "../support/project.js";
import { runIn } from "../support/run-cli.js";

describe.each(actors)("as $name", (actor) => {
  it("--env sets a variable, or passes the host's on", async () => {
    const result = await runIn(actor, ["-e", "SET=a b=c", "--env", "PASSED", "-eEMPTY=", "env"], {
      env: { PASSED: "from the host", OTHER: "not passed" },
    });
    const lines = result.stdout.trim().split("\n");
    expect(lines).toEqual(expect.arrayContaining(["SET=a b=c", "PASSED=from the host", "EMPTY="]));
    expect(lines.filter((line) => line.startsWith("OTHER"))).toEqual([]);
  });

  it("--user chooses who runs the command", async () => {
    const result = await runIn(actor, [
      "--user",
      "1234:77",
      "sh",
      "-c",
      "id -u; id -g; touch /tmp/f; stat -c %u:%g /tmp/f",
    ]);
    expect(result).toMatchObject({ status: 0, stdout: "1234\n77\n1234:77\n" });
  });

  it("--workdir chooses where it starts; without it that is the project", async () => {
    const project = makeProject(actor, { "src/a.txt": "a\n" });
    const options = { cwd: project.path };
    expect((await runIn(actor, ["-w", "/workspace/src", "sh", "-c", "pwd; ls"], options)).stdout).toBe(
      "/workspace/src\na.txt\n",
    );
    expect((await runIn(actor, ["pwd"], options)).stdout).toBe("/workspace\n");
  });

  it("--mount shows a folder of the host, writable or not, relative to where one is", async () => {
    const project = makeProject(actor, { "vendor/lib.txt": "lib\n" });
    const other = makeProject(actor, { "data.txt": "data\n" });
    const script = [
      "cat /deps/lib.txt /data/data.txt",
      "echo x > /deps/new || echo read-only",
      "echo new > /data/new.txt",
    ].join("; ");
    const mounts = ["-v", "./vendor:/deps:ro", "--mount", `${other.path}:/data`];
    const result = await runIn(actor, [...mounts, "sh", "-c", script], { cwd: project.path });
    expect(result).toMatchObject({ status: 0, stdout: "lib\ndata\nread-only\n" });
    expect(other.content()).toEqual({ "data.txt": "data\n", "new.txt": "new\n" });
    expect(project.content()).toEqual({ "vendor/": "", "vendor/lib.txt": "lib\n" });
  });

  it("--mount of a single file", async () => {
    const other = makeProject(actor, { "one.txt": "one\n" });
    const result = await runIn(actor, ["-v", `${join(other.path, "one.txt")}:/one.txt:ro`, "cat", "/one.txt"]);
    expect(result.stdout).toBe("one\n");
  });

  it("options end at the command, and its own words are never looked at", async () => {
    expect((await runIn(actor, ["printf", "%s\\n", "--timeout", "-e", "--json"])).stdout).toBe(
      "--timeout\n-e\n--json\n",
    );
    expect((await runIn(actor, ["--", "echo", "--", "x"])).stdout).toBe("-- x\n");
    expect((await runIn(actor, ["sh", "-c", 'printf "%s|" "$@"', "sh", "", "a b", "$HOME", "*"])).stdout).toBe(
      "|a b|$HOME|*|",
    );
  });

  it("--timeout longer than the command changes nothing", async () => {
    expect(await runIn(actor, ["--timeout", "30s", "sh", "-c", "exit 5"])).toMatchObject({ status: 5 });
  });

  it("--open-files and --pids hold inside", async () => {
    const result = await runIn(actor, ["--open-files", "100", "sh", "-c", "ulimit -n"]);
    expect(result.stdout).toBe("100\n");
    const bomb =
      "import os,time\nn=0\ntry:\n  while n<100:\n    if os.fork()==0: time.sleep(100)\n    n+=1\nexcept OSError: pass\nprint(n)";
    expect(Number((await runIn(actor, ["--pids", "20", "python3", "-c", bomb])).stdout)).toBeLessThan(20);
  });
});
