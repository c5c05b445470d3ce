/** A5: a project's own file asks for more, and is met through every surface: HTTP, MCP, the hook, a terminal. */
import { spawnSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { actors } from "../../support/actors.js";
import { ApiServer } from "../../support/api-server.js";
import { call, startMcp } from "../../support/mcp-client.js";
import { makeProject } from "../../support/project.js";
import { runCli } from "../../support/run-cli.js";
import { verbOnTerminal } from "../../support/terminal.js";

const greedy = "[security]\nprofile = 'permissive'\n";

describe.each(actors)("A5 as $name: a project's permissive profile", (actor) => {
  const diary = join(actor.home, "a5-diary.txt");
  const script = `touch stolen; cat ${diary} 2> /dev/null; echo done`;
  const command = ["sh", "-c", script];
  beforeAll(() => writeFileSync(diary, "dear diary\n", { mode: 0o644 }));
  afterAll(() => rmSync(diary));
  const greedyProject = () => makeProject(actor, { "agentkernel.toml": greedy });

  it("works where the user asks for the same outright", async () => {
    const project = makeProject(actor, {});
    const { stdout } = await runCli(actor, ["run", "-p", "permissive", ...command], { cwd: project.path });
    expect(stdout).toBe("dear diary\ndone\n");
    expect(project.content()).toHaveProperty("stolen");
  });

  it("gives nothing to a run over HTTP that names its directory, until the user trusts it", async () => {
    const server = await ApiServer.start(actor);
    try {
      const key = await server.key("a5", ["--scope", "admin"]);
      const project = greedyProject();
      const run = async () => {
        const { json } = await server.ask("POST", "/run", {
          body: { command, dir: project.path, network: false },
          key,
        });
        return json.data.stdout;
      };
      expect(await run()).toBe("done\n");
      expect(project.content()).not.toHaveProperty("stolen");
      await runCli(server.actor, ["trust", project.path]);
      expect(await run()).toBe("dear diary\ndone\n");
    } finally {
      await server.stop();
    }
  });

  it("gives nothing to a model through MCP", async () => {
    const project = greedyProject();
    const env = { XDG_STATE_HOME: actor.folder("state"), AGENTKERNEL_DAEMON: "off" };
    const { client } = await startMcp(actor, { cwd: project.path, env });
    try {
      const ran = await call(client, "sandbox_run", { command, network: false });
      expect(ran.data?.stdout, ran.text).toBe("done\n");
      const asked = await call(client, "sandbox_run", { command, network: false, profile: "permissive" });
      expect(asked.isError, asked.text).toBe(true);
      expect(project.content()).not.toHaveProperty("stolen");
    } finally {
      await client.close();
    }
  });

  it("gives nothing to a command that the hook routes", async () => {
    const project = greedyProject();
    const input = {
      hook_event_name: "PreToolUse",
      tool_name: "Bash",
      permission_mode: "bypassPermissions",
      cwd: project.path,
      tool_input: { command: script },
    };
    const answer = await runCli(actor, ["hook", "claude"], { cwd: project.path, stdin: JSON.stringify(input) });
    const line = JSON.parse(answer.stdout).hookSpecificOutput.updatedInput.command;
    const identity = process.getuid?.() === 0 ? { uid: actor.uid, gid: actor.gid } : {};
    const env = { PATH: process.env.PATH ?? "/usr/bin:/bin", HOME: actor.home, AGENTKERNEL_DAEMON: "off" };
    const ran = spawnSync("sh", ["-c", line], { ...identity, cwd: project.path, env, encoding: "utf8" });
    expect(ran.stdout).toBe("done\n");
    expect(ran.stderr).toMatch(/fs\.home readonly is beyond mode claude; none holds/);
  });

  it("is put to the user once on a terminal, with its lines, and the command still reads the terminal", async () => {
    const project = greedyProject();
    const words = ["run", "sh", "-c", `read line; echo "got $line"; cat ${diary}`];
    const first = verbOnTerminal(
      actor,
      words,
      [
        { expect: "agentkernel.toml:2: profile permissive" },
        { expect: "\\[y/N\\]" },
        { type: "y\n" },
        { type: "typed\n" },
      ],
      project.path,
    );
    expect(first.output).toMatch(/got typed\r?\ndear diary/);
    const second = verbOnTerminal(actor, words, [{ type: "again\n" }], project.path);
    expect(second.output).toMatch(/got again\r?\ndear diary/);
    expect(second.output).not.toContain("[y/N]");
  });

  it("stays refused after a no, without another question, until the file changes", async () => {
    const project = greedyProject();
    const words = ["run", "sh", "-c", `cat ${diary} || echo hidden`];
    const ask = (answer: string) => [{ expect: "\\[y/N\\]" }, { type: `${answer}\n` }];
    expect(verbOnTerminal(actor, words, ask("n"), project.path).output).toContain("hidden");
    const again = verbOnTerminal(actor, words, [], project.path).output;
    expect(again).toContain("hidden");
    expect(again).not.toContain("[y/N]");
    writeFileSync(join(project.path, "agentkernel.toml"), `${greedy}mount_cwd = true\n`);
    const changed = verbOnTerminal(actor, words, ask("y"), project.path).output;
    expect(changed).toMatch(/settings have changed since you were asked/);
    expect(changed).toContain("+ agentkernel.toml:3: fs.workspace.mode mount");
    expect(changed).toContain("dear diary");
  });
});
