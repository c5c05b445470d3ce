/** Which of our tools Claude Code calls by itself, by their risk. */
import { askedTools, calmTools, SERVER_NAME } from "../mcp-entry.js";

type ToolName = (tool: string) => string;

/** Of a server in its settings. */
export const settingsTool: ToolName = (tool) => `mcp__${SERVER_NAME}__${tool}`;

/** Of a plugin's server: the plugin's name is in it too. */
export const pluginTool: ToolName = (tool) => `mcp__plugin_agentkernel_${SERVER_NAME}__${tool}`;

export function permissions(name: ToolName): { readonly allow: readonly string[]; readonly ask: readonly string[] } {
  return { allow: calmTools.map(name), ask: askedTools.map(name) };
}
