/** The same as a plugin: every file of plugins/claude-code, and the marketplace that offers it. `npm run plugins` writes them. */
import { version } from "../../core/version.js";
import { SERVER_NAME, serverCommand } from "../mcp-entry.js";
import { hookGroup } from "./hook-entry.js";
import { permissions, pluginTool } from "./permissions.js";
import { skillText } from "./texts.js";

const description = "Runs Claude Code's commands in sandboxes on your own machine";
const launch = ["agentkernel"] as const;

/** Path from the root of the repository → text. */
export const pluginFiles: Readonly<Record<string, string>> = {
  ".claude-plugin/marketplace.json": json({
    name: "agentkernel",
    owner: { name: "agentkernel" },
    description,
    plugins: [{ name: "agentkernel", source: "./plugins/claude-code", description, version, license: "Apache-2.0" }],
  }),
  "plugins/claude-code/.claude-plugin/plugin.json": json({
    name: "agentkernel",
    version,
    description,
    author: { name: "agentkernel" },
    license: "Apache-2.0",
    keywords: ["sandbox", "security", "mcp"],
  }),
  "plugins/claude-code/.mcp.json": json({ mcpServers: { [SERVER_NAME]: { type: "stdio", ...serverCommand(launch) } } }),
  "plugins/claude-code/hooks/hooks.json": json({ description, hooks: { PreToolUse: [hookGroup(launch)] } }),
  "plugins/claude-code/skills/sandbox/SKILL.md": skillText({ skill: "sandbox", tool: pluginTool }),
  "plugins/claude-code/permissions.example.json": json({ permissions: permissions(pluginTool) }),
};

function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
