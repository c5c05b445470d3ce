/**
 * src/agents owns what agentkernel knows of coding agents: whether one is installed, what it needs in its own configuration
 * files to use sandboxes, how that is put there and taken out again, and the hook that routes commands. It works changes out
 * over texts before anything is written, touches nothing but its own entries, and never reads a key or a login.
 */
import { type Agent, type AgentName, agentNames } from "./agent.js";
import { claude } from "./claude/index.js";
import { codex } from "./codex.js";
import { gemini } from "./gemini.js";
import { opencode } from "./opencode.js";

export { detect } from "./detect.js";
export { fileExists, linkedTarget } from "./files.js";
export { apply, diffOf, plan } from "./install.js";

export const agents: readonly Agent[] = [claude, gemini, codex, opencode];

export function agentNamed(name: AgentName): Agent {
  return { claude, codex, gemini, opencode }[name];
}

export function isAgentName(name: string): name is AgentName {
  return (agentNames as readonly string[]).includes(name);
}
