/**
 * Names that agents edit legitimately and that steer what the user runs later: instructions of agents, continuous
 * integration, hooks that live in the project, shell start-up files, settings of editors and tools. A sandbox changes its
 * own copy freely. The project gets such a change only after a yes to it (`apply --yes-to`, `run --yes-to`); a live
 * mount shows those that exist read-only. What is also in protected.ts is never changed.
 */
const instructions = [
  ...["CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", "AGENTS.override.md", "GEMINI.md", ".cursorrules", ".windsurfrules"],
  ...[".clinerules", ".goosehints", ".github/copilot-instructions.md", ".github/instructions", ".aider.conf.yml"],
  ...[".kiro", ".roo", ".windsurf", ".amazonq", ".continue", ".junie"],
];

/** Run by a service with its credentials, or by git in the user's name. */
const automation = [
  ...[".github/workflows", ".github/actions", ".gitlab-ci.yml", ".circleci", ".husky", ".pre-commit-config.yaml"],
  ...["lefthook.yml", ".lefthook.yml"],
];

const editors = [
  ...[".vscode", ".idea", ".zed", ".fleet", "*.code-workspace", ".devcontainer", ".devcontainer.json"],
  ...["devcontainer.json", ".exrc", ".nvim.lua", ".nvimrc", ".dir-locals.el"],
];

/** Each names programs that the tool starts, or where it loads code from. `.npmrc` without a token; others are hidden. */
const tools = [
  ...[".cargo/config", ".cargo/config.toml", ".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs", ".envrc"],
  ...[".gdbinit", ".lldbinit", ".bazelrc"],
];

/** A project of dotfiles is often linked into the home directory. */
const startup = [
  ...[".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".inputrc"],
  ...[".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".cshrc", ".tcshrc", ".login", ".logout"],
  ...[".xinitrc", ".xprofile", ".xsession", ".xsessionrc", ".pam_environment", ".gitconfig"],
  ...["autostart", "systemd", "environment.d", "fish", "git"].map((name) => `.config/${name}`),
  ...[".local/share/applications", ".local/share/systemd"],
];

/** Agents and interpreters that packages do bring; the rest of `node_modules/.bin` is carried over. */
const shadowed = ["claude", "codex", "gemini", "opencode", "node", "npm", "npx"].map(
  (name) => `node_modules/*.bin/${name}`,
);

export const builtInReviewGlobs: readonly string[] = [
  ...[...instructions, ...automation, ...editors, ...tools, ...startup, ...shadowed],
].map((name) => `**/${name}`);

const EVERYTHING = "all";

/** What is left to review after a yes to some names: `CLAUDE.md` for its rule, `all` for every one. */
export function reviewAfterYesTo(names: readonly string[]): readonly string[] {
  return builtInReviewGlobs.filter((glob) => !names.some((name) => name === EVERYTHING || glob === `**/${name}`));
}

export function isReviewName(name: string): boolean {
  return name === EVERYTHING || builtInReviewGlobs.includes(`**/${name}`);
}
