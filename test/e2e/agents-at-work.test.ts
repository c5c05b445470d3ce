/** The real agents from npm, set up by `agents install`, each with a scripted model that makes it call one tool of ours. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import type { AgentName } from "../../src/agents/agent.js";
import { root } from "../support/actors.js";
import { AgentHome, type Work, whyNoSession } from "../support/agent-session.js";
import { contentOf } from "../support/project.js";

const INSTALL_TIMEOUT_MS = 180_000;
const PLANTED = "planted-secret-of-the-home";

interface Case {
  readonly name: AgentName;
  /** What the user has in this agent's files already. */
  readonly existing: Readonly<Record<string, string>>;
  /** Lists MCP servers in the agent's own words. */
  readonly list: readonly string[];
  readonly listed: RegExp;
  readonly work: (input: Readonly<Record<string, unknown>>) => Work;
}

const scripted = {
  name: "scripted",
  options: { baseURL: "{url}/v1", apiKey: "fake" },
  models: { one: { name: "one" } },
};

const cases: readonly Case[] = [
  {
    name: "claude",
    existing: { ".claude/settings.json": '{\n  "model": "sonnet"\n}\n' },
    list: ["claude", "mcp", "list"],
    listed: /agentkernel: \/\S+\/agentkernel mcp server - .*Connected/,
    work: (input) => ({
      protocol: "anthropic",
      script: [{ tool: "mcp__agentkernel__sandbox_run", input }, { text: "the end" }],
      argv: ["claude", "-p", "go"],
      env: { ANTHROPIC_BASE_URL: "{url}", ANTHROPIC_API_KEY: "fake" },
    }),
  },
  {
    name: "codex",
    existing: {
      ".codex/config.toml": [
        "# mine",
        'model_provider = "scripted" # the test\'s',
        "",
        "[model_providers.scripted]",
        'name = "scripted"',
        'base_url = "http://127.0.0.1:1/v1"',
        'wire_api = "responses"',
        'env_key = "OPENAI_API_KEY"',
        "",
      ].join("\n"),
    },
    list: ["codex", "mcp", "list"],
    listed: /^agentkernel +\/\S+\/agentkernel +mcp server .*enabled/m,
    work: (input) => ({
      protocol: "openai-responses",
      script: [{ tool: "mcp__agentkernel/sandbox_run", input }, { text: "the end" }],
      argv: [
        ...["codex", "exec", "--skip-git-repo-check", "-m", "scripted"],
        // Otherwise a first turn goes without the tools of a server that a busy machine has not started yet.
        ...["-c", "mcp_optional_startup_grace_ms=60000"],
        ...["-c", 'model_providers.scripted.base_url="{url}/v1"', "go"],
      ],
      env: { OPENAI_API_KEY: "fake" },
    }),
  },
  {
    name: "gemini",
    existing: {
      ".gemini/settings.json":
        '{\n  // by key\n  "security": { "auth": { "selectedType": "gemini-api-key" } },\n  "privacy": { "usageStatisticsEnabled": false }\n}\n',
    },
    list: ["gemini", "mcp", "list"],
    listed: /agentkernel: \/\S+\/agentkernel mcp server \(stdio\) - Connected/,
    work: (input) => ({
      protocol: "gemini",
      script: [{ tool: "mcp_agentkernel_sandbox_run", input }, { text: "the end" }],
      argv: ["gemini", "-p", "go"],
      env: { GOOGLE_GEMINI_BASE_URL: "{url}", GEMINI_API_KEY: "fake", GEMINI_CLI_TRUST_WORKSPACE: "true" },
    }),
  },
  {
    name: "opencode",
    existing: {
      ".config/opencode/opencode.jsonc":
        '{\n  "$schema": "https://opencode.ai/config.json",\n  // quiet\n  "autoupdate": false,\n}\n',
    },
    list: ["opencode", "mcp", "list"],
    listed: /agentkernel .*connected/,
    work: (input) => ({
      protocol: "anthropic",
      script: [{ tool: "agentkernel_sandbox_run", input }, { text: "the end" }],
      argv: ["opencode", "run", "go"],
      env: {
        OPENCODE_CONFIG_CONTENT: JSON.stringify({
          provider: { scripted: { npm: "@ai-sdk/anthropic", ...scripted } },
          model: "scripted/one",
          small_model: "scripted/one",
        }),
      },
    }),
  },
];

/** Only what existed before the agent and we came; agents write much else. */
function ownFiles(home: string, names: readonly string[]): Readonly<Record<string, string | null>> {
  const read = (name: string) => (existsSync(join(home, name)) ? readFileSync(join(home, name), "utf8") : null);
  return Object.fromEntries(names.map((name) => [name, read(name)]));
}

describe.skipIf(whyNoSession() !== null)("the real agents", () => {
  const actor = root;
  if (actor === undefined) return;

  beforeAll(async () => {
    await AgentHome.make(actor);
  }, INSTALL_TIMEOUT_MS);

  describe.each(cases)("$name", ({ name, existing, list, listed, work }) => {
    let place: AgentHome;
    beforeAll(async () => {
      place = await AgentHome.make(actor);
      for (const [file, text] of Object.entries(existing)) place.write("home", file, text);
      place.write("home", "planted", PLANTED);
    });

    test("is listed, with its version", async () => {
      const { stdout } = await place.run(["agentkernel", "agents", "--json"]);
      const { data } = JSON.parse(stdout) as { readonly data: readonly Record<string, unknown>[] };
      expect(data.find(({ agent }) => agent === name)).toMatchObject({
        installed: true,
        version: expect.stringMatching(/^\d+\.\d+\.\d+/),
        api_key: "missing",
        integration: { user: "none", project: "none" },
      });
    });

    test("loads what is installed, and calls a tool that answers from a sandbox", async () => {
      const installed = await place.run(["agentkernel", "agents", "install", name, "--yes"]);
      expect(installed).toMatchObject({ status: 0, stdout: expect.stringContaining("+++ ") });
      const again = await place.run(["agentkernel", "agents", "install", name, "--yes"]);
      expect(again).toMatchObject({ status: 0, stdout: expect.stringContaining("already") });

      const { stdout, stderr } = await place.run(list, { GEMINI_CLI_TRUST_WORKSPACE: "true" });
      expect(stdout + stderr).toMatch(listed);

      const command = ["sh", "-c", `uname -n; pwd; cat ${place.home}/planted || echo hidden`];
      const report = await place.work(work({ command }));
      expect(report.seen.results.join("\n"), JSON.stringify(report)).toMatch(/run-[0-9a-f]+.*\/workspace.*hidden/s);
      expect(report.seen.results.join("\n")).not.toContain(PLANTED);
      expect(report.stdout).toContain("the end");
    });

    test("is as it was after an uninstall", async () => {
      const files = Object.keys(existing);
      const { status } = await place.run(["agentkernel", "agents", "uninstall", name, "--yes"]);
      expect(status).toBe(0);
      expect(ownFiles(place.home, files)).toEqual(existing);
      const left = Object.entries(contentOf(place.home)).filter(([path, text]) => /agentkernel/.test(path + text));
      expect(left.map(([path]) => path).filter((path) => isConfiguration(path))).toEqual([]);
    });
  });
});

/** Not what agents log, cache or remember of their sessions. */
function isConfiguration(path: string): boolean {
  return /(settings\.json|config\.toml|opencode\.jsonc?|AGENTS\.md|GEMINI\.md|SKILL\.md|agentkernel\.(md|toml))$/.test(
    path,
  );
}
