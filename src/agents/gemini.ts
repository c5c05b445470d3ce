/** Gemini CLI: its `settings.json`, its `GEMINI.md`, and for a user the rules of its policy engine. */
import { join } from "node:path";
import type { Agent, FileEdits, Setting } from "./agent.js";
import { OWN_MARK } from "./edit/whole-file.js";
import { objectionTo } from "./entry-extras.js";
import { instructions } from "./instructions.js";
import { askedTools, calmTools, isServerEntry, SERVER_NAME, serverCommand, startsBy } from "./mcp-entry.js";

const TOOL_TIMEOUT_MS = 600_000;

export const gemini: Agent = {
  name: "gemini",
  title: "Gemini CLI",
  program: "gemini",
  packages: ["@google/gemini-cli"],
  keyVariables: ["GEMINI_API_KEY", "GOOGLE_API_KEY"],
  loginFiles: ({ homeDir }) => [join(homeDir, ".gemini", "oauth_creds.json")],
  files: (setting) => {
    const { scope, launch, at } = setting;
    const wanted = serverCommand(launch);
    const folder = join(scope === "user" ? at.homeDir : at.cwd, ".gemini");
    const advice = scope === "user" ? join(folder, "GEMINI.md") : join(at.cwd, "GEMINI.md");
    return [
      {
        path: join(folder, "settings.json"),
        edits: [
          {
            kind: "json-set",
            path: ["mcpServers", SERVER_NAME],
            value: { ...wanted, timeout: TOOL_TIMEOUT_MS },
            isOurs: isServerEntry,
            suffices: (value) => startsBy(value, wanted),
            objection: objectionTo(scope),
          },
        ],
      },
      { path: advice, edits: [{ kind: "block", text: instructions(toolName, "gemini") }] },
      ...rules(setting),
    ];
  },
  remarks: ({ scope }) => [
    "Gemini CLI starts MCP servers only in folders that you trust: it asks when you start it in one",
    ...(scope === "project" ? ["it asks before each call, since it takes rules only from ~/.gemini/policies"] : []),
  ],
};

function toolName(name: string): string {
  return `mcp_${SERVER_NAME}_${name}`;
}

/** It reads no rules of a project. */
function rules({ scope, at }: Setting): readonly FileEdits[] {
  if (scope === "project") return [];
  const text = [
    `# ${OWN_MARK}: which of its tools Gemini CLI calls without asking. \`agentkernel agents uninstall gemini\` removes it.`,
    "[[rule]]",
    `mcpName = "${SERVER_NAME}"`,
    `toolName = ${JSON.stringify(calmTools)}`,
    'decision = "allow"',
    "priority = 100",
    "",
    "[[rule]]",
    `mcpName = "${SERVER_NAME}"`,
    `toolName = ${JSON.stringify(askedTools)}`,
    'decision = "ask_user"',
    "priority = 100",
    "",
  ].join("\n");
  return [{ path: join(at.homeDir, ".gemini", "policies", "agentkernel.toml"), edits: [{ kind: "whole", text }] }];
}
