/**
 * The four agents, each with what `agents install` wrote and a scripted model that has it make one call. Files of the home
 * answer what an agent asks when it is started for the first time: who logs in, which theme, whether the folder is trusted.
 */
import type { AgentName } from "../../../src/agents/agent.js";
import type { Scene } from "./index.js";

const COLUMNS = 100;
const ROWS = 32;
const ASKED = "run the tests, and say where they ran";
const COMMAND = "npm test; cat ~/.ssh/id_ed25519; uname -n";
const SAID = "The tests pass. They ran in a sandbox, and your SSH key is not there.";

/** The tests passed, on a machine that is not this one, without the key. */
const answered = /^(?=.*2 checks passed)(?=.*run-[0-9a-f]{12})(?=.*id_ed25519: No such file)/s;

const call = { command: ["sh", "-c", COMMAND] };
const project = "/home/dev/shop";

const common = {
  columns: COLUMNS,
  rows: ROWS,
  hasBlanks: true,
  end: /your SSH key is not there\./,
  afterwards: [],
} as const;

function installed(agent: AgentName): Scene["preparations"] {
  return [["agentkernel", "agents", "install", agent, "--yes"]];
}

const claude: Scene = {
  ...common,
  name: "claude-code",
  rows: 26,
  agent: "claude",
  path: "docs/agents/pictures/claude-code.svg",
  title: "Claude Code with agentkernel",
  description: "Claude Code's Bash tool runs the tests in a sandbox, where the user's SSH key does not exist.",
  files: {
    ".claude.json": json({
      hasCompletedOnboarding: true,
      theme: "dark",
      verbose: true,
      customApiKeyResponses: { approved: ["fake"], rejected: [] },
      projects: { [project]: { hasTrustDialogAccepted: true, hasCompletedProjectOnboarding: true } },
    }),
    ".claude/settings.json": json({ permissions: { defaultMode: "default" } }),
  },
  preparations: installed("claude"),
  argv: ["claude"],
  env: {
    ANTHROPIC_BASE_URL: "{url}",
    ANTHROPIC_API_KEY: "fake",
    DISABLE_AUTOUPDATER: "1",
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
  },
  model: { protocol: "anthropic", script: [{ tool: "Bash", input: { command: COMMAND } }, { text: SAID }], answered },
  moves: [
    { after: /No, keep manual mode/, keys: ["Down", "Enter"] },
    { after: /❯\s*\n─/, type: ASKED, keys: ["Enter"] },
  ],
};

const codex: Scene = {
  ...common,
  name: "codex",
  rows: 38,
  end: /Hide details.*your SSH key is not there\./s,
  hasBlanks: false,
  agent: "codex",
  path: "docs/agents/pictures/codex.svg",
  title: "Codex with agentkernel",
  description: "Codex calls sandbox_run: the tests run in a sandbox, where the user's SSH key does not exist.",
  files: {
    ".codex/config.toml": [
      'model = "scripted"',
      'model_provider = "scripted"',
      "check_for_update_on_startup = false",
      "",
      "[model_providers.scripted]",
      'name = "scripted"',
      'base_url = "{url}/v1"',
      'wire_api = "responses"',
      'env_key = "OPENAI_API_KEY"',
      "",
      `[projects."${project}"]`,
      'trust_level = "trusted"',
      "",
    ].join("\n"),
  },
  preparations: installed("codex"),
  // Its MCP servers are in a server of its own that outlives the window.
  afterwards: [
    ["codex", "app-server", "daemon", "stop"],
    ["agentkernel", "daemon", "stop"],
  ],
  argv: ["codex"],
  env: { OPENAI_API_KEY: "fake" },
  model: {
    protocol: "openai-responses",
    script: [{ tool: "mcp__agentkernel/sandbox_run", input: call }, { text: SAID }],
    answered,
  },
  // The model can call a tool once its server is up, which the list shows; the foot of the screen comes with the session.
  moves: [
    { after: /scripted default · ~\/shop/, type: "/mcp", keys: ["Enter"] },
    { after: /agentkernel: connected/, type: ASKED, keys: ["Enter"] },
    { after: /Show details.*your SSH key/s, click: "Show details" },
  ],
};

const gemini: Scene = {
  ...common,
  name: "gemini-cli",
  agent: "gemini",
  path: "docs/agents/pictures/gemini-cli.svg",
  title: "Gemini CLI with agentkernel",
  description: "Gemini CLI calls sandbox_run: the tests run in a sandbox, where the user's SSH key does not exist.",
  files: {
    ".gemini/settings.json": json({
      security: { auth: { selectedType: "gemini-api-key" } },
      privacy: { usageStatisticsEnabled: false },
      general: { disableAutoUpdate: true, disableUpdateNag: true, enableAutoUpdate: false },
    }),
  },
  preparations: installed("gemini"),
  leaving: "/quit",
  afterwards: [["agentkernel", "daemon", "stop"]],
  argv: ["gemini"],
  env: { GOOGLE_GEMINI_BASE_URL: "{url}", GEMINI_API_KEY: "fake", GEMINI_CLI_TRUST_WORKSPACE: "true" },
  model: {
    protocol: "gemini",
    script: [{ tool: "mcp_agentkernel_sandbox_run", input: call }, { text: SAID }],
    answered,
  },
  moves: [{ after: /Type your message/, type: ASKED, keys: ["Enter"] }],
};

const opencode: Scene = {
  ...common,
  name: "opencode",
  rows: 30,
  end: /Click to collapse.*your SSH key is not there\./s,
  agent: "opencode",
  path: "docs/agents/pictures/opencode.svg",
  title: "OpenCode with agentkernel",
  description: "OpenCode calls sandbox_run: the tests run in a sandbox, where the user's SSH key does not exist.",
  files: { ".local/state/opencode/kv.json": json({ generic_tool_output_visibility: true }) },
  preparations: installed("opencode"),
  argv: ["opencode"],
  env: {
    OPENCODE_CONFIG_CONTENT: JSON.stringify({
      autoupdate: false,
      provider: {
        scripted: {
          npm: "@ai-sdk/anthropic",
          name: "scripted",
          options: { baseURL: "{url}/v1", apiKey: "fake" },
          models: { one: { name: "one" } },
        },
      },
      model: "scripted/one",
      small_model: "scripted/one",
    }),
  },
  model: {
    protocol: "anthropic",
    script: [{ tool: "agentkernel_sandbox_run", input: call }, { text: SAID }],
    answered,
  },
  moves: [
    { after: /Ask anything/, type: ASKED, keys: ["Enter"] },
    { after: /Click to expand.*your SSH key/s, click: "Click to expand" },
  ],
};

export const agentScenes: readonly Scene[] = [claude, codex, gemini, opencode];

function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
