/**
 * The tools of Claude Code that run a command of the model's on the machine. The hook is called for these, and each of
 * them is routed or refused: a form that is not known here does not pass.
 */

/** Checked against the tools that the real program offers: test/e2e/agents-claude-hook.test.ts. */
const shellTools = ["Bash", "Monitor", "PowerShell"] as const;
type ShellTool = (typeof shellTools)[number];

export const MATCHER = shellTools.join("|");

export function isShellTool(name: string): name is ShellTool {
  return (shellTools as readonly string[]).includes(name);
}

/** Why a call is not routed, whatever else it says; null where its `command` is what it runs. */
export function whyNotRouted(tool: ShellTool, fields: Readonly<Record<string, unknown>>): string | null {
  if (tool === "PowerShell") return "commands of PowerShell cannot be put into a sandbox; use the Bash tool";
  if (tool === "Monitor" && "ws" in fields)
    return "a monitor of a WebSocket would connect from the machine itself; watch with a command";
  return typeof fields.command === "string" ? null : `the ${tool} call has no command`;
}
