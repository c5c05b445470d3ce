/**
 * src/agents/claude owns what Claude Code is given: an MCP entry, permissions by risk, the hook that routes its Bash tool
 * into sandboxes, and a skill; written into its settings, or packed as a plugin (plugins/claude-code, `npm run plugins`).
 */
import { isAbsolute, join } from "node:path";
import type { Surroundings } from "../../core/surroundings.js";
import type { Agent, FileEdits, Setting } from "../agent.js";
import type { Edit } from "../edit/index.js";
import { objectionTo } from "../entry-extras.js";
import { isServerEntry, SERVER_NAME, serverCommand, startsBy } from "../mcp-entry.js";
import { hookGroup, isHook } from "./hook-entry.js";
import { permissions, settingsTool } from "./permissions.js";
import { skillText } from "./texts.js";

/** Not `sandbox`, which is a command of Claude Code's own. */
const SKILL = "agentkernel";
const skill = skillText({ skill: SKILL, tool: settingsTool });

export const claude: Agent = {
  name: "claude",
  title: "Claude Code",
  program: "claude",
  packages: ["@anthropic-ai/claude-code"],
  keyVariables: ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"],
  loginFiles: (at) => [join(userFolder(at), ".credentials.json")],
  files: (setting) => {
    const { scope, at } = setting;
    const folder = scope === "user" ? userFolder(at) : join(at.cwd, ".claude");
    return [
      serverFile(setting),
      { path: join(folder, "settings.json"), edits: settingsEdits(setting) },
      { path: join(folder, "skills", SKILL, "SKILL.md"), edits: [{ kind: "whole", text: skill }] },
    ];
  },
  remarks: ({ scope }) => [
    "sessions of Claude Code that run now have to be started again",
    ...(scope === "project" ? ["Claude Code asks once in this project whether its MCP server may be used"] : []),
  ],
};

function serverFile({ scope, launch, at }: Setting): FileEdits {
  const wanted = serverCommand(launch);
  const edit: Edit = {
    kind: "json-set",
    path: ["mcpServers", SERVER_NAME],
    value: { type: "stdio", ...wanted },
    isOurs: isServerEntry,
    suffices: (value) => startsBy(value, wanted),
    objection: objectionTo(scope),
  };
  if (scope === "project") return { path: join(at.cwd, ".mcp.json"), edits: [edit] };
  const named = namedFolder(at);
  return { path: join(named ?? at.homeDir, ".claude.json"), isPrivate: true, edits: [edit] };
}

function settingsEdits({ launch }: Setting): readonly Edit[] {
  const { allow, ask } = permissions(settingsTool);
  const rule = (list: "allow" | "ask", value: string): Edit => ({
    kind: "json-item",
    path: ["permissions", list],
    value,
    isOurs: (item) => item === value,
    unlessIn: (["allow", "ask", "deny"] as const)
      .filter((other) => other !== list)
      .map((other) => ["permissions", other]),
  });
  const { hooks, ...group } = hookGroup(launch);
  const hook: Edit = {
    kind: "json-grouped",
    path: ["hooks", "PreToolUse"],
    member: "hooks",
    value: hooks[0],
    group,
    isOurs: isHook,
  };
  return [hook, ...allow.map((value) => rule("allow", value)), ...ask.map((value) => rule("ask", value))];
}

function userFolder(at: Surroundings): string {
  return namedFolder(at) ?? join(at.homeDir, ".claude");
}

function namedFolder({ env: { CLAUDE_CONFIG_DIR: named } }: Surroundings): string | null {
  return named !== undefined && isAbsolute(named) ? named : null;
}
