import { createHash, randomBytes } from "node:crypto";
import { chmodSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { callers, usesDaemon } from "../support/daemon.js";
import { leaksSince, traces } from "../support/leaks.js";
import { makeProject } from "../support/project.js";
import { runIn } from "../support/run-cli.js";
import { shellCli } from "../support/shell-cli.js";
import { WatchedCli } from "../support/watched-cli.js";

const sha256 = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");

describe.each(callers)("$title", (actor) => {
  usesDaemon(actor);

  describe("the exit status", () => {
    it.each([0, 1, 3, 42, 124, 125, 126, 127, 255])("%i of the command's own", async (code) => {
      expect(await runIn(actor, ["sh", "-c", `exit ${code}`])).toMatchObject({ status: code, stdout: "" });
    });

    it("124: timed out, with all its children", async () => {
      const before = traces();
      const script =
        "trap '' TERM; (setsid sh -c \"trap '' TERM; sleep 4201\" &); echo up; while :; do sleep 4201; done";
      const startedAt = performance.now();
      const result = await runIn(actor, ["--timeout", "400ms", "sh", "-c", script]);
      expect(result).toMatchObject({ status: 124, stdout: "up\n" });
      expect(result.stderr).toMatch(/timed out after 400 ms/);
      expect(performance.now() - startedAt).toBeLessThan(20_000);
      expect(await leaksSince(before)).toEqual([]);
    });

    it("125: agentkernel itself failed", async () => {
      expect(await runIn(actor, ["--workdir", "/no/such", "true"])).toMatchObject({ status: 125 });
    });

    it("126: found, but not executable", async () => {
      const project = makeProject(actor, { "not-executable": "#!/bin/sh\n" });
      chmodSync(join(project.path, "not-executable"), 0o644);
      const result = await runIn(actor, ["./not-executable"], { cwd: project.path });
      expect(result).toMatchObject({ status: 126, stdout: "" });
    });

    it("127: not found", async () => {
      const result = await runIn(actor, ["no-such-command-here"]);
      expect(result).toMatchObject({ status: 127, stdout: "" });
      expect(result.stderr).toContain("no-such-command-here");
    });

    it.each([
      ["KILL", 137],
      ["SEGV", 139],
      ["TERM", 143],
    ])("128 and the number: killed by SIG%s", async (signal, status) => {
      expect(await runIn(actor, ["sh", "-c", `kill -${signal} $$`])).toMatchObject({ status });
    });
  });

  describe("the streams", () => {
    it("stay apart, and stdout has nothing but the command's", async () => {
      const line = "agentkernel run sh -c 'echo out; echo err >&2; exit 3' 2> /dev/null; echo $?";
      expect((await shellCli(actor, line)).stdout).toBe("out\n3\n");
      const other = "agentkernel run --no-network sh -c 'echo out; echo err >&2' 2>&1 > /dev/null";
      expect((await shellCli(actor, other)).stdout).toContain("err\n");
    });

    it("output is there while the command runs", async () => {
      const cli = new WatchedCli(actor, ["run", "--no-network", "sh", "-c", "echo first; read go; echo $go"]);
      await cli.until(/first\n/);
      // It cannot have ended: it waits for what is only said now.
      cli.type("second\n");
      expect(await cli.end).toMatchObject({ status: 0, stdout: "first\nsecond\n" });
    });

    it("50 MB of any bytes go in and out unchanged", async () => {
      const sent = randomBytes(50 << 20);
      const { stdoutBytes, status } = await runIn(actor, ["cat"], { stdin: sent });
      expect(status).toBe(0);
      expect(sha256(stdoutBytes)).toBe(sha256(sent));
      const inside = await runIn(actor, ["sha256sum"], { stdin: sent });
      expect(inside.stdout).toBe(`${sha256(sent)}  -\n`);
    });

    it("stdin from a file, from nothing, and from a terminal's absence", async () => {
      const project = makeProject(actor, { "in.txt": "from a file\n" });
      const options = { cwd: project.path };
      expect((await shellCli(actor, "agentkernel run --no-network cat < in.txt", options)).stdout).toBe(
        "from a file\n",
      );
      expect((await shellCli(actor, "agentkernel run --no-network cat < /dev/null", options)).status).toBe(0);
      expect((await shellCli(actor, "echo piped | agentkernel run --no-network cat", options)).stdout).toBe("piped\n");
      expect((await shellCli(actor, "agentkernel run --no-network cat <<< here", options)).stdout).toBe("here\n");
    });
  });

  it("--json prints one object with everything that a program wants to know", async () => {
    const result = await runIn(actor, ["--json", "sh", "-c", "echo out; echo err >&2; exit 3"]);
    expect(result.status).toBe(3);
    expect(result.stdout.trim().split("\n")).toHaveLength(1);
    expect(JSON.parse(result.stdout)).toEqual({
      success: true,
      data: {
        output: expect.stringMatching(/^(out\nerr|err\nout)\n$/),
        stdout: "out\n",
        stderr: "err\n",
        dropped_bytes: 0,
        exit_code: 3,
        duration_ms: expect.any(Number),
        timed_out: false,
        sandbox: expect.stringMatching(/^run-[0-9a-f]{10,}$/),
        backend: "linux",
        backend_why: expect.stringMatching(/^auto: /),
        image: { digest: null, name: "host", why: expect.any(String) },
        profile: "moderate",
        layers: expect.arrayContaining([expect.objectContaining({ name: "seccomp", state: "applied" })]),
        usage: expect.objectContaining({ cpu_us: expect.any(Number), oom_kills: 0 }),
        changes: null,
        network: { mode: "off", blocked: [] },
        notes: [],
      },
    });
  });

  it("--json of a run that timed out, and of one that could not start", async () => {
    const late = await runIn(actor, ["--json", "--timeout", "100ms", "sleep", "4202"]);
    expect(late.status).toBe(124);
    expect(JSON.parse(late.stdout)).toMatchObject({ success: true, data: { timed_out: true, exit_code: 124 } });
    const never = await runIn(actor, ["--json", "no-such-command"]);
    expect(never.status).toBe(127);
    expect(JSON.parse(never.stdout)).toMatchObject({ success: false, error: { code: "command_not_found" } });
  });
});
