/**
 * Names in a project that steer programs which the user runs later. There are two levels:
 *
 * - *never*: files that make git, an agent or agentkernel itself execute something on the host, or that hide changes
 *   from review. No sandbox changes them, also where everything around them is writable and before they exist.
 * - *ask* (review.ts): files that agents edit legitimately. Changes to them wait until the user has said yes.
 *
 * Both hold at any depth, because a subfolder can be a repository or an agent's project too. A name on both lists is on
 * the first. docs/files.md has the table.
 *
 * Git also takes a folder of any other name for a repository. What is protected in `.git` is protected there as well,
 * and no sandbox makes such a folder or takes a repository apart: native/jail/src/view/repository.rs.
 */
const git = [
  ".git/hooks",
  ".git/config",
  ".git/config.worktree",
  ".git/commondir",
  // Excluded files, attributes and grafts hide changes from `git status`, `git diff` and `git log`.
  ".git/info",
  // Git shows the replacement in place of the object.
  ".git/refs/replace",
  // Where remotes are, for which the configuration names none: an older way, which git still obeys.
  ".git/remotes",
  ".git/branches",
  ".git/modules/**/hooks",
  ".git/modules/**/config",
  ".git/modules/**/config.worktree",
  ".git/modules/**/info",
  ".git/modules/**/refs/replace",
  // Not at any depth: `refs/remotes` is what was fetched.
  ".git/modules/*/remotes",
  ".git/modules/*/branches",
  ".git/worktrees/**/config.worktree",
  ".git/worktrees/**/gitdir",
  // Says where a repository's configuration is, in whatever folder it lies.
  "commondir",
];

/** With a star, so that no empty folder is put where Mercurial or Jujutsu would take it for a repository. */
const otherRepositories = [".hg/hgrc*", ".hg/sharedpath*", ".jj/repo/config*", ".jj/repo/workspace-config*"];

const agents = [
  ...[".claude", ".codex", ".gemini", ".opencode", "opencode.json", "opencode.jsonc", ".mcp.json"],
  // Programs that an agent starts: MCP servers and hooks. With a star, so that no placeholder is made in each project.
  ...[".kiro/settings*", ".kiro/hooks*", ".kiro/agents*", ".roo/mcp.json*", ".windsurf/mcp*", ".windsurf/hooks*"],
  ...[".amazonq/mcp.json*", ".amazonq/default.json*", ".amazonq/cli-agents*", ".continue/mcpServers*"],
];

const editors = [".cursor", ".vscode/mcp.json", ".vscode/tasks.json", ".vscode/settings.json"];

const ours = ["agentkernel.toml", "*.policy.yaml", "*.policy.yml", "*.policy.json"];

/**
 * Programs that a user trusts to tell what a sandbox did, or that get passwords. npm and editors put `node_modules/.bin`
 * first in PATH. Packages do not bring these names; other entries come and go with `npm install` and are carried over.
 * With a star, so that no placeholder stands where `npm install` makes its folder.
 */
const shadowed = [
  ...["git", "ssh", "sudo", "su", "doas", "gpg", "sh", "bash", "zsh", "fish", "env", "ls", "cat", "diff", "less"],
  ...["curl", "docker", "podman"],
  "agentkernel*",
].map((name) => `node_modules/*.bin/${name}`);

export const builtInProtectGlobs: readonly string[] = [
  ...[...git, ...otherRepositories, ...agents, ...editors, ...ours, ...shadowed],
].map((name) => `**/${name}`);
