/** `agents`, `agents install`, `agents uninstall` and the hook, through the real command line, without any agent. */
import { chownSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { type Actor, actors } from "../support/actors.js";
import { callers, usesDaemon } from "../support/daemon.js";
import { contentOf, makeProject } from "../support/project.js";
import { runCli } from "../support/run-cli.js";
import { verbOnTerminal } from "../support/terminal.js";

/** A home that no other test uses. */
function withOwnHome(actor: Actor): Actor {
  const home = actor.folder("home");
  return { ...actor, home };
}

function put(actor: Actor, name: string, text: string): string {
  const path = join(actor.home, name);
  mkdirSync(join(path, ".."), { recursive: true });
  writeFileSync(path, text);
  if (process.getuid?.() === 0) for (const one of [path, join(path, "..")]) chownSync(one, actor.uid, actor.gid);
  return path;
}

describe.each(actors)("as $name", (anyActor) => {
  test("agents lists all four, and says of each whether it is there and has a key", async () => {
    const actor = withOwnHome(anyActor);
    put(actor, ".codex/auth.json", "{}");
    const env = { PATH: "/usr/bin:/bin", GEMINI_API_KEY: "fake" };
    const { stdout, status } = await runCli(actor, ["agents"], { env });
    expect(status).toBe(0);
    expect(stdout.split("\n").map((line) => line.split(/ {2,}/))).toEqual([
      ["AGENT", "STATUS", "API KEY", "USES AGENTKERNEL"],
      ["Claude Code", "not installed", "missing", "no"],
      ["Gemini CLI", "not installed", "set", "no"],
      ["Codex", "not installed", "set", "no"],
      ["OpenCode", "not installed", "set", "no"],
      [""],
    ]);
  });

  test("a project is set up and restored, by name of the folder it is called in", async () => {
    const actor = withOwnHome(anyActor);
    const files = { "AGENTS.md": "# Mine\n", ".mcp.json": '{ "mcpServers": {} }', "opencode.json": "{}" };
    const project = makeProject(actor, files);
    const before = project.content();
    for (const name of ["claude", "codex", "gemini", "opencode"]) {
      const { status, stderr } = await runCli(actor, ["agents", "install", "--project", name, "-y"], {
        cwd: project.path,
      });
      expect({ status, stderr: stderr.replace(/^agentkernel: .*\n/gm, "") }).toEqual({ status: 0, stderr: "" });
    }
    expect(Object.keys(project.content())).toEqual(
      expect.arrayContaining([".claude/settings.json", ".codex/config.toml", ".gemini/settings.json", "GEMINI.md"]),
    );
    const listed = await runCli(actor, ["agents"], { cwd: project.path, env: { PATH: "/usr/bin:/bin" } });
    const uses = listed.stdout
      .trimEnd()
      .split("\n")
      .slice(1)
      .map((line) => line.split(/ {2,}/).at(-1));
    expect(uses).toEqual(Array(4).fill("in this project"));
    for (const name of ["opencode", "claude", "gemini", "codex"]) {
      const { status } = await runCli(actor, ["agents", "uninstall", "--project", name, "-y"], { cwd: project.path });
      expect(status).toBe(0);
    }
    expect(project.content()).toEqual(before);
  });

  test("a link that leads out of the project is not followed, one of the user's is said", async () => {
    const actor = withOwnHome(anyActor);
    const outside = put(actor, "elsewhere/settings.json", "{}\n");
    const project = makeProject(actor, { "a.txt": "" });
    symlinkSync(dirname(outside), join(project.path, ".claude"));
    const args = ["agents", "install", "--project", "claude", "--yes"];
    const refused = await runCli(actor, args, { cwd: project.path });
    expect(refused).toMatchObject({ status: 125, stdout: "" });
    expect(refused.stderr).toMatch(
      /\.claude\/settings\.json cannot be used: it is a link out of the project, to .*elsewhere/,
    );
    expect(readFileSync(outside, "utf8")).toBe("{}\n");
    expect(existsSync(join(project.path, ".mcp.json"))).toBe(false);
    symlinkSync("elsewhere", join(actor.home, ".claude"));
    const { stdout } = await runCli(actor, ["agents", "install", "claude"], { cwd: project.path });
    expect(stdout).toContain(`${join(actor.home, ".claude/settings.json")} → ${outside}`);
    const asJson = await runCli(actor, ["agents", "install", "claude", "--json"], { cwd: project.path });
    expect(JSON.parse(asJson.stdout)).toMatchObject({
      data: { files: expect.arrayContaining([expect.objectContaining({ real_path: outside })]) },
    });
  });

  test("a project's entry that says more than its command is not called installed", async () => {
    const actor = withOwnHome(anyActor);
    const entry = { command: "agentkernel", args: ["mcp", "server"], env: { NODE_OPTIONS: "--require ./evil.js" } };
    const project = makeProject(actor, { ".mcp.json": JSON.stringify({ mcpServers: { agentkernel: entry } }) });
    const { status, stderr } = await runCli(actor, ["agents", "install", "--project", "claude", "-y"], {
      cwd: project.path,
    });
    expect(status).toBe(125);
    expect(stderr).toMatch(/mcpServers\.agentkernel is there already, and says env, which a project must not decide/);
    const { stdout } = await runCli(actor, ["agents", "--json"], { cwd: project.path });
    const { data } = JSON.parse(stdout) as { data: { agent: string; integration: { project: string } }[] };
    expect(data.find(({ agent }) => agent === "claude")?.integration.project).toBe("unreadable");
  });

  test("nothing is written unless it is wanted", async () => {
    const actor = withOwnHome(anyActor);
    const piped = await runCli(actor, ["agents", "install", "codex"]);
    expect(piped).toMatchObject({ status: 125, stdout: expect.stringContaining("+[mcp_servers.agentkernel]") });
    expect(piped.stderr).toMatch(/no terminal to ask on\n.*--yes/);
    const asJson = await runCli(actor, ["agents", "install", "codex", "--json"]);
    expect(JSON.parse(asJson.stdout)).toMatchObject({ success: true, data: { applied: false, scope: "user" } });
    const refused = verbOnTerminal(actor, ["agents", "install", "codex"], [{ expect: "[y/N]" }, { type: "n\n" }]);
    expect(refused).toMatchObject({
      status: 1,
      output: expect.stringContaining("nothing was changed"),
      restored: true,
    });
    expect(contentOf(actor.home)).toEqual({});
    const agreed = verbOnTerminal(actor, ["agents", "install", "codex"], [{ expect: "[y/N]" }, { type: "y\n" }]);
    expect(agreed).toMatchObject({ status: 0, output: expect.stringContaining("Codex now uses sandboxes") });
    expect(existsSync(join(actor.home, ".codex/config.toml"))).toBe(true);
  });

  test("a broken file stops it, with file and line, and stays as it is", async () => {
    const actor = withOwnHome(anyActor);
    const broken = '{\n  "hooks": {},\n  oops\n}\n';
    const path = put(actor, ".claude/settings.json", broken);
    const { status, stderr } = await runCli(actor, ["agents", "install", "claude", "--yes"]);
    expect(status).toBe(125);
    expect(stderr).toMatch(/\.claude\/settings\.json:3:3: not JSON/);
    expect(readFileSync(path, "utf8")).toBe(broken);
    expect(existsSync(join(actor.home, ".claude.json"))).toBe(false);
  });

  test("secrets around our lines are not shown", async () => {
    const actor = withOwnHome(anyActor);
    put(actor, ".codex/config.toml", 'a = 1\napi_token = "hunter2hunter2"\n');
    const { stdout } = await runCli(actor, ["agents", "install", "codex", "--json"]);
    expect(stdout).toContain("api_token");
    expect(stdout).not.toContain("hunter2");
  });

  test.each([
    [["agents", "install"], /needs the name of an agent/],
    [["agents", "install", "cursor"], /knows no agent "cursor"/],
    [["agents", "install", "claude", "codex"], /takes one agent/],
    [["agents", "install", "claude", "--user", "--project"], /--user contradicts --project/],
    [["agents", "what"], /agents takes no word "what"/],
  ])("%j is refused", async (words, message) => {
    const { status, stderr } = await runCli(withOwnHome(anyActor), words);
    expect(status).toBe(125);
    expect(stderr).toMatch(message);
  });
});

describe.each(callers)("the hook, $title", (caller) => {
  usesDaemon(caller);

  test("routes a command of the project into a sandbox", async () => {
    const project = makeProject(caller, { "file.txt": "from the project" });
    const input = {
      hook_event_name: "PreToolUse",
      tool_name: "Bash",
      cwd: project.path,
      permission_mode: "acceptEdits",
      tool_input: { command: "cat 'file.txt'; uname -n" },
    };
    const env = { CLAUDE_PROJECT_DIR: project.path };
    const { status, stdout } = await runCli(caller, ["hook", "claude"], {
      cwd: project.path,
      stdin: JSON.stringify(input),
      env,
    });
    expect(status).toBe(0);
    const { hookSpecificOutput: answer } = JSON.parse(stdout) as {
      hookSpecificOutput: { permissionDecision: string; updatedInput: { command: string } };
    };
    expect(answer).toMatchObject({ permissionDecision: "allow" });
    expect(answer.updatedInput.command).toMatch(/ run --compatibility-mode claude -- sh -c /);
  });

  test("finds rules behind a byte order mark, and refuses where it cannot read all of them", async () => {
    const project = makeProject(caller, {
      ".claude/settings.json": '\uFEFF{"permissions":{"deny":["Bash(touch:*)"]}}',
    });
    const env = { CLAUDE_PROJECT_DIR: project.path };
    const call = { hook_event_name: "PreToolUse", tool_name: "Bash", cwd: project.path };
    const answer = async (command: string) => {
      const stdin = JSON.stringify({ ...call, tool_input: { command } });
      const { stdout } = await runCli(caller, ["hook", "claude"], { cwd: project.path, stdin, env });
      const { hookSpecificOutput } = JSON.parse(stdout) as { hookSpecificOutput: Record<string, string> };
      return `${hookSpecificOutput.permissionDecision}: ${hookSpecificOutput.permissionDecisionReason}`;
    };
    expect(await answer("echo $(touch x)")).toMatch(/^deny: .*your rule Bash\(touch:\*\) denies it/);
    expect(await answer("ls")).toMatch(/^allow: /);
    writeFileSync(join(project.path, ".claude/settings.json"), `{"a":"${"x".repeat(4 << 20)}"}`);
    expect(await answer("ls")).toMatch(/^deny: .*settings\.json is larger than 4 MiB/);
  });

  test("blocks what it does not understand", async () => {
    const { status, stdout } = await runCli(caller, ["hook", "claude"], { stdin: '{"tool_name":' });
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ hookSpecificOutput: { permissionDecision: "deny" } });
  });
});
