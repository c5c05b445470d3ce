/**
 * What no sandbox ever changes, also where everything around it is writable and also before it exists: files that
 * make git, an agent or agentkernel itself run something on the host. At any depth, because a subfolder can be a
 * repository or an agent's project too.
 *
 * Git also takes a folder of any other name for a repository. What is protected in `.git` is protected there as well,
 * and no sandbox makes such a folder or takes a repository apart: native/jail/src/view/repository.rs.
 */
const git = [
  ".git/hooks",
  ".git/config",
  ".git/config.worktree",
  ".git/commondir",
  ".git/modules/**/hooks",
  ".git/modules/**/config",
  ".git/modules/**/config.worktree",
  ".git/worktrees/**/config.worktree",
  ".git/worktrees/**/gitdir",
  // Says where a repository's configuration is, in whatever folder it lies.
  "commondir",
];

/** With a star, so that no empty folder is put where Mercurial would take it for a repository. */
const mercurial = [".hg/hgrc*"];

const agents = [".claude", ".codex", ".gemini", ".opencode", "opencode.json", "opencode.jsonc", ".mcp.json"];

const editors = [".cursor", ".vscode/mcp.json", ".vscode/tasks.json", ".vscode/settings.json"];

const ours = [
  ...["agentkernel.toml", "*.policy.yaml", "*.policy.yml", "*.policy.json"],
  // First in PATH for everything that npm starts. With a star, since packages come and go around it.
  "node_modules/.bin/agentkernel*",
];

export const builtInProtectGlobs: readonly string[] = [...git, ...mercurial, ...agents, ...editors, ...ours].map(
  (name) => `**/${name}`,
);
