/** Claude Code itself with our hook: its Bash tool runs in a sandbox, or not at all. */
import { existsSync, readFileSync, symlinkSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { isShellTool } from "../../src/agents/claude/shell-tools.js";
import { root } from "../support/actors.js";
import { AgentHome, whyNoSession } from "../support/agent-session.js";
import type { Step } from "../support/model-servers/index.js";
import { repository } from "../support/repository.js";

const INSTALL_TIMEOUT_MS = 180_000;
const env = { ANTHROPIC_BASE_URL: "{url}", ANTHROPIC_API_KEY: "fake", AGENTKERNEL_REMARKS: "never" };

function bash(command: string, more: Readonly<Record<string, unknown>> = {}): Step {
  return { tool: "Bash", input: { command, ...more } };
}

/** An MCP server that answers every question of Claude Code's with yes, and writes it down. */
const asker = `
import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";
const inputSchema = { type: "object", properties: {}, additionalProperties: true };
const results = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "asker", version: "1" },
  }),
  "tools/list": () => ({ tools: [{ name: "ask", description: "asks", inputSchema }] }),
  "tools/call": ({ arguments: { input } }) => {
    appendFileSync(import.meta.filename + ".log", input.command + "\\n");
    return { content: [{ type: "text", text: JSON.stringify({ behavior: "allow", updatedInput: input }) }] };
  },
};
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id !== undefined) console.log(JSON.stringify({ jsonrpc: "2.0", id, result: results[method]?.(params) ?? {} }));
});
`;

describe.skipIf(whyNoSession() !== null)("Claude Code with the hook", () => {
  const actor = root;
  if (actor === undefined) return;
  let place: AgentHome;

  beforeAll(async () => {
    place = await AgentHome.make(actor);
    await place.run(["agentkernel", "agents", "install", "claude", "--yes"]);
    place.write("home", "planted", "planted-secret");
    place.write("project", ".env", "TOKEN=planted-secret");
    place.write("project", "sub/file.txt", "in sub");
  }, INSTALL_TIMEOUT_MS);

  async function claude(
    script: readonly Step[],
    words: readonly string[] = [],
    more: Readonly<Record<string, string>> = {},
  ) {
    const isModeNamed = words.some((word) => word.includes("permission"));
    const argv = ["claude", "-p", "go", ...(isModeNamed ? [] : ["--permission-mode", "acceptEdits"]), ...words];
    return (await place.work({ protocol: "anthropic", script, argv, env: { ...env, ...more } })).seen.results;
  }

  test("without it, Bash runs on the machine itself", async () => {
    const bare = await AgentHome.make(actor);
    const argv = ["claude", "-p", "go", "--allowedTools", "Bash"];
    const { seen } = await bare.work({ protocol: "anthropic", script: [bash("uname -n")], argv, env });
    expect(seen.results).toEqual([hostname()]);
  });

  test("runs in a sandbox: another machine, the project at its path, no secret, changes carried over", async () => {
    const [first = "", second] = await claude([
      bash(
        `uname -n; pwd; cat ${place.home}/planted .env; cat ${place.project}/sub/file.txt; echo "it's made" > made; cd sub`,
      ),
      bash("pwd; cat made"),
    ]);
    expect(first).toMatch(/^run-[0-9a-f]+\n/);
    expect(first).toContain(`\n${place.project}\n`);
    expect(first).toContain("in sub");
    expect(first).not.toContain("planted-secret");
    expect(readFileSync(join(place.project, "made"), "utf8")).toBe("it's made\n");
    // A new sandbox each time: a change of folder does not last, files do.
    expect(second).toBe(`${place.project}\nit's made`);
  });

  test("in the mode that asks, reading needs no question, and nothing is written without an answer", async () => {
    const [refused, read] = await claude(
      [bash("uname -n > unasked"), bash("uname -n; cat sub/file.txt")],
      ["--permission-mode", "default"],
    );
    expect(refused).toMatch(/carried over to your files/);
    expect(read).toMatch(/^run-[0-9a-f]+\nin sub$/);
    expect(existsSync(join(place.project, "unasked"))).toBe(false);
  });

  test("after a yes to the agent's question, the command runs in a sandbox", async () => {
    const server = place.write("home", "asker.mjs", asker);
    const servers = { mcpServers: { asker: { command: process.execPath, args: [server] } } };
    const config = place.write("home", "asker.json", JSON.stringify(servers));
    const words = ["--mcp-config", config, "--permission-prompt-tool", "mcp__asker__ask"];
    await claude([bash("uname -n > asked")], ["--permission-mode", "default", ...words]);
    expect(readFileSync(join(place.project, "asked"), "utf8")).toMatch(/^run-/);
    const questions = readFileSync(`${server}.log`, "utf8");
    expect(questions).toMatch(/ run --compatibility-mode claude -- .*uname -n > asked/);
  });

  test("a status other than 0, and both streams, come back", async () => {
    const [result] = await claude([bash("echo out; echo err >&2; exit 7")]);
    expect(result).toMatch(/Exit code 7/);
    expect(result).toMatch(/out/);
    expect(result).toMatch(/err/);
  });

  test("a command in the background runs in a sandbox too", async () => {
    const results = await claude([bash("uname -n > background", { run_in_background: true }), bash("sleep 1")]);
    expect(results[0]).toMatch(/background/);
    expect(readFileSync(join(place.project, "background"), "utf8")).toMatch(/^run-/);
  });

  test("a monitor runs in a sandbox too", async () => {
    const monitor = { tool: "Monitor", input: { command: "uname -n > watched", description: "x", timeout_ms: 5000 } };
    await claude([monitor, bash("sleep 1")], ["--allowedTools", "Monitor"]);
    expect(readFileSync(join(place.project, "watched"), "utf8")).toMatch(/^run-/);
  });

  test("every tool that takes a command is one that the hook is called for", async () => {
    // Without the search for tools all of them are offered at once.
    const all = { ...env, ENABLE_TOOL_SEARCH: "false" };
    const { seen } = await place.work({ protocol: "anthropic", script: [], argv: ["claude", "-p", "go"], env: all });
    const own = Object.entries(seen.fields).filter(([name]) => !name.startsWith("mcp__"));
    const runs = own.filter(([, fields]) => fields.some((field) => /command|cmd|shell|exec|argv/i.test(field)));
    // It ends a command by its id, and runs none.
    const names = runs.map(([name]) => name).filter((name) => name !== "TaskStop");
    expect(names).toContain("Monitor");
    expect(names.filter((name) => !isShellTool(name))).toEqual([]);
    // Of what takes a program in another form this is known, and said in docs/agents/claude-code.md.
    const scripts = own.filter(([, fields]) => fields.some((field) => /^script|code|program/i.test(field)));
    expect(scripts.map(([name]) => name)).toEqual(["Workflow"]);
  });

  test.each([
    ["where nobody can be asked", [], {}],
    ["where all is allowed", ["--dangerously-skip-permissions"], { IS_SANDBOX: "1" }],
  ])("a request to leave the sandbox is not granted %s", async (_where, words, more) => {
    const escaped = join(place.home, "escaped");
    const [result] = await claude([bash(`touch ${escaped}`, { dangerouslyDisableSandbox: true })], words, more);
    expect(result).toMatch(/agentkernel: .*(OUTSIDE the sandbox|outside the sandbox is refused)/);
    expect(existsSync(escaped)).toBe(false);
  });

  test("a rule of the user's for single commands still holds", async () => {
    place.write("project", ".claude/settings.local.json", '{"permissions":{"deny":["Bash(touch:*)"]}}');
    const hidden = ["true; touch denied", "echo $(touch denied)", "bash -ce 'touch denied'", "/usr/bin/touch denied"];
    const results = await claude([
      ...hidden.map((command) => bash(command)),
      bash("$x touch denied"),
      bash("echo fine"),
    ]);
    for (const denied of results.slice(0, 4)) expect(denied).toMatch(/your rule Bash\(touch:\*\) denies it/);
    // Nobody is there to be asked.
    expect(results[4]).toMatch(/what it expands to may be/);
    expect(results[5]).toBe("fine");
    expect(existsSync(join(place.project, "denied"))).toBe(false);
  });

  test("without agentkernel nothing runs", async () => {
    const other = await AgentHome.make(actor);
    await other.run(["agentkernel", "agents", "install", "claude", "--project", "--yes"]);
    const escaped = join(other.home, "escaped");
    const program = join(actor.folder("only-claude"), "claude");
    symlinkSync((await other.run(["sh", "-c", "command -v claude"])).stdout.trim(), program);
    const { seen } = await other.work({
      protocol: "anthropic",
      script: [bash(`touch ${escaped}`)],
      argv: [program, "-p", "go", "--allowedTools", "Bash"],
      env: { ...env, PATH: "/usr/bin:/bin" },
    });
    expect(seen.results[0]).toMatch(/the command was not run/);
    expect(existsSync(escaped)).toBe(false);
  });

  test.each(["--user", "--project"])(
    "installed with %s, a program that a sandbox puts first in PATH is not started",
    async (scope) => {
      const other = await AgentHome.make(actor);
      await other.run(["agentkernel", "agents", "install", "claude", scope, "--yes"]);
      const escaped = join(other.home, "escaped");
      const plant = (name: string) =>
        `mkdir -p node_modules/.bin; printf '#!/bin/sh\\ntouch ${escaped}\\n' > node_modules/.bin/${name}; chmod +x node_modules/.bin/${name}; uname -n`;
      const { seen } = await other.work({
        protocol: "anthropic",
        script: [bash(`${plant("agentkernel")}; ${plant("node")}; ${plant("readlink")}`), bash("uname -n")],
        argv: ["claude", "-p", "go", "--permission-mode", "acceptEdits"],
        // As npx and npm scripts set it.
        env: { ...env, PATH: `${other.project}/node_modules/.bin:${other.environment().PATH}` },
      });
      expect(seen.results[1]).toMatch(/^run-/);
      // Ours is never carried over, and an interpreter waits for a review.
      expect(existsSync(join(other.project, "node_modules/.bin/agentkernel"))).toBe(false);
      expect(existsSync(join(other.project, "node_modules/.bin/node"))).toBe(false);
      expect(existsSync(join(other.project, "node_modules/.bin/readlink"))).toBe(true);
      expect(existsSync(escaped)).toBe(false);
    },
  );

  test("the plugin does the same", async () => {
    const other = await AgentHome.make(actor);
    const validated = await other.run(["claude", "plugin", "validate", join(repository, "plugins/claude-code")]);
    expect(validated, validated.stdout).toMatchObject({ status: 0 });
    expect((await other.run(["claude", "plugin", "marketplace", "add", repository])).status).toBe(0);
    expect((await other.run(["claude", "plugin", "install", "agentkernel@agentkernel"])).status).toBe(0);
    expect((await other.run(["claude", "mcp", "list"])).stdout).toMatch(/agentkernel mcp server - .*Connected/);
    const script = [bash("uname -n")];
    const argv = ["claude", "-p", "/agentkernel:sandbox echo what-was-typed"];
    const { seen } = await other.work({ protocol: "anthropic", script, argv, env });
    expect(seen.results[0]).toMatch(/^run-/);
    expect(seen.said).toContain(">>>echo what-was-typed<<<");
  });
});
