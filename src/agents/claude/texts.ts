/** The skill that Claude Code gets. It is also a command: what is typed after its name is run in a sandbox. */
import { OWN_MARK } from "../edit/whole-file.js";

interface SkillNames {
  /** What the user types after the slash. */
  readonly skill: string;
  /** How Claude Code calls a tool of our MCP server. */
  readonly tool: (name: string) => string;
}

export function skillText({ skill, tool }: SkillNames): string {
  const granted = ["sandbox_run", "sandbox_exec", "sandbox_list", "sandbox_file_read"].map(tool).join(", ");
  return `---
name: ${skill}
description: Run commands in an isolated sandbox (agentkernel). Use for builds, tests, package installs, scripts and anything that comes from outside the project, and when a command was refused a file or a network destination.
argument-hint: <command>
allowed-tools: ${granted}
---
<!-- ${OWN_MARK} -->
# Sandboxes

If a command stands between the marks, run it with the tool \`${tool("sandbox_run")}\` as \`["sh", "-c", "<the command>"]\` with
\`compatibility_mode\` "claude", and show its output and exit code; if the user refuses that mode, run it without. If there is
nothing, this page is for reading.

>>>$ARGUMENTS<<<

Every command runs in a sandbox of its own on this machine: it starts in milliseconds, cannot read the user's secrets,
and reaches only the network destinations that its policy names.

## One command
Call \`${tool("sandbox_run")}\` with \`command\` as a list of words:

    {"command": ["npm", "test"]}
    {"command": ["sh", "-c", "npm ci && npm test"], "compatibility_mode": "claude"}

The project is \`/workspace\`. With \`compatibility_mode: "claude"\` changes in the project are carried over when the command
ends: the user is asked, or has allowed it before. Without it, or where that is refused, they are dropped: change files
with your own tools then. The result has stdout, stderr and exit_code; a non-zero exit_code is a result.

## Several commands in one place
\`${tool("sandbox_session_create")}\` makes a sandbox that lives as long as this session; then \`${tool("sandbox_exec")}\` with its name,
\`${tool("sandbox_file_read")}\` and \`${tool("sandbox_file_write")}\` for files in it.

## The Bash tool
Where the hook is installed, Bash commands run in a sandbox too, and look the same as always: the project has its usual path.
- Every call starts in the project's folder, in a new sandbox: \`cd\`, variables, background processes and installed
  system packages do not last. Write \`cd sub && command\` in one call.
- A long-running server belongs in one call with \`run_in_background\`; its changes to files arrive when it ends.

## When something is refused
- \`blocked: example.com:443\` means that the policy does not allow this destination. Tell the user which one and why it is
  needed; they can allow it in their own agentkernel/config.toml (\`[security] domains.allow\`). Do not look for a way around it.
- Files with secrets (\`.env\`, keys, credentials) do not exist inside. Do not ask for their contents.
- Files that steer agents and git (\`.claude/\`, \`.mcp.json\`, \`.git/hooks\`, \`.git/config\`) cannot be changed from inside.
- Do not set \`dangerouslyDisableSandbox\`: the user is asked each time, or it is refused.
`;
}
