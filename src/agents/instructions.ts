/** What agents are told about sandboxes, in the files in which they take instructions. */

/** `tool` is how the agent calls a tool of ours, `mode` the compatibility mode in which changes of the project count. */
export function instructions(tool: (name: string) => string, mode: string): string {
  return `## Sandboxes (agentkernel)

Run shell commands in a sandbox, with the tool \`${tool("sandbox_run")}\`, instead of running them on this machine: builds, tests,
package installs, scripts, and everything that comes from outside the project.

- \`command\` is a list of words; for a shell line use \`["sh", "-c", "npm ci && npm test"]\`. The project is \`/workspace\`.
- Each call is a new sandbox, and what it changes is gone afterwards. With \`"compatibility_mode": "${mode}"\` the files that it
  changes in the project are carried over when the command ends: the user is asked, or has allowed it before. If that is
  refused, leave it out, and change files with your own tools. For several commands in one place use \`${tool("sandbox_session_create")}\`, then \`${tool("sandbox_exec")}\`.
- A destination that is not allowed is refused, and the answer says which. Ask the user instead of working around it.
- Secrets (\`.env\`, keys, credentials) are not there. Do not ask for them.
- Files that steer agents and git (\`.claude/\`, \`.codex/\`, \`.gemini/\`, \`.mcp.json\`, \`.git/hooks\`) cannot be changed from inside.
`;
}
