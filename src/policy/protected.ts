/**
 * What no sandbox ever changes, also where everything around it is writable and also before it exists: files that
 * make git, an agent or agentkernel itself run something on the host. At any depth, because a subfolder can be a
 * repository or an agent's project too.
 */
const git = [
  ".git/hooks",
  ".git/config",
  ".git/config.worktree",
  ".git/commondir",
  ".git/modules/**/hooks",
  ".git/modules/**/config",
];

const agents = [".claude", ".codex", ".gemini", ".opencode", "opencode.json", "opencode.jsonc", ".mcp.json"];

const ours = ["agentkernel.toml", "*.policy.yaml", "*.policy.yml", "*.policy.json"];

export const builtInProtectGlobs: readonly string[] = [...git, ...agents, ...ours].map((name) => `**/${name}`);
