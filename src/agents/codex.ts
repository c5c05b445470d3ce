/** Codex: tables of its `config.toml`, and lines of its `AGENTS.md`. */
import { isAbsolute, join } from "node:path";
import type { Surroundings } from "../core/surroundings.js";
import type { Agent, Launch } from "./agent.js";
import { objectionTo } from "./entry-extras.js";
import { instructions } from "./instructions.js";
import { calmTools, isServerEntry, SERVER_NAME, serverCommand, startsBy } from "./mcp-entry.js";

export const codex: Agent = {
  name: "codex",
  title: "Codex",
  program: "codex",
  packages: ["@openai/codex"],
  keyVariables: ["OPENAI_API_KEY", "CODEX_API_KEY"],
  loginFiles: (at) => [join(home(at), "auth.json")],
  files: ({ scope, launch, at }) => {
    const wanted = serverCommand(launch);
    const config = scope === "user" ? join(home(at), "config.toml") : join(at.cwd, ".codex", "config.toml");
    const advice = scope === "user" ? join(home(at), "AGENTS.md") : join(at.cwd, "AGENTS.md");
    return [
      {
        path: config,
        edits: [
          {
            kind: "toml-tables",
            path: ["mcp_servers", SERVER_NAME],
            text: tables(launch),
            isOurs: isServerEntry,
            suffices: (value) => startsBy(value, wanted),
            objection: objectionTo(scope),
          },
        ],
      },
      { path: advice, edits: [{ kind: "block", text: instructions((name) => name, "codex") }] },
    ];
  },
  remarks: ({ scope }) =>
    scope === "project"
      ? ["Codex reads .codex/config.toml only in projects that you trust: start codex here once"]
      : [],
};

function home({ env, homeDir }: Surroundings): string {
  const named = env.CODEX_HOME;
  return named !== undefined && isAbsolute(named) ? named : join(homeDir, ".codex");
}

/** Codex starts MCP servers with few variables; these say where our daemon, files and settings are. */
const PASSED = [
  ...["XDG_RUNTIME_DIR", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"],
  ...["AGENTKERNEL_IMAGE", "AGENTKERNEL_PULL", "AGENTKERNEL_DAEMON", "AGENTKERNEL_AUDIT"],
];

function tables(launch: Launch): string {
  const { command, args } = serverCommand(launch);
  const name = `mcp_servers.${SERVER_NAME}`;
  return [
    `[${name}]`,
    `command = ${text(command)}`,
    `args = ${list(args)}`,
    `env_vars = ${list(PASSED)}`,
    "tool_timeout_sec = 600",
    'default_tools_approval_mode = "prompt"',
    ...calmTools.flatMap((tool) => ["", `[${name}.tools.${tool}]`, 'approval_mode = "approve"']),
  ].join("\n");
}

function list(words: readonly string[]): string {
  return `[${words.map(text).join(", ")}]`;
}

/** What JSON escapes, TOML reads alike; and JSON leaves DEL alone, which TOML does not allow. */
function text(word: string): string {
  return JSON.stringify(word).replaceAll("\u007f", "\\u007f");
}
