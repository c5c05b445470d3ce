/** The hook as it stands in Claude Code's settings. */
import type { Launch } from "../agent.js";
import { fieldsOf } from "../mcp-entry.js";
import { shellQuote } from "./shell-quote.js";
import { MATCHER } from "./shell-tools.js";

const HOOK_WORDS = ["hook", "claude"] as const;
const TIMEOUT_S = 30;

/** Set for the hook where PATH had folders of the project, which are left out for it. */
export const CLEANED_VARIABLE = "AGENTKERNEL_HOOK_PATH_CLEANED";

interface HookGroup {
  readonly matcher: string;
  readonly hooks: readonly [object];
}

/**
 * Claude Code goes on without a hook that cannot be started. That must not happen: `onFailure` says so to versions that
 * know it, and status 2, which means "blocked" in all of them, to the rest. A hook that takes too long is then still passed
 * over by old versions.
 */
export function hookGroup(launch: Launch): HookGroup {
  const hook = { type: "command", command: hookCommand(launch), timeout: TIMEOUT_S, onFailure: "block" };
  return { matcher: MATCHER, hooks: [hook] };
}

/**
 * A Claude Code that npx or an npm script has started has `<project>/node_modules/.bin` first in PATH, and sandboxes write
 * there. So folders of the project do not count as PATH, for the program itself and for what it starts; and a program that
 * lies in the project, by whatever link, is not started. Up to there nothing runs that is not built into the shell.
 */
function hookCommand(launch: Launch): string {
  const [first] = launch;
  const program = launch.length === 1 && !first.includes("/") ? `"$(command -v ${shellWord(first)})"` : null;
  return [
    "no() { echo 'agentkernel: the command was not run, since it could not be put into a sandbox' >&2; exit 2; }",
    'o=$CLAUDE_PROJECT_DIR; [ -n "$o" ] || o=.; q=$(CDPATH= cd -P -- "$o" && pwd -P) || no; set -f; IFS=:; p=',
    'for d in $PATH; do case $d in /*) r=$(CDPATH= cd -P -- "$d" 2>/dev/null && pwd -P) || r=$d ;; *) r=$q ;; esac',
    `case $r/ in "$q"/*|"$o"/*) export ${CLEANED_VARIABLE}=1 ;; *) p=$p:$d ;; esac; done; PATH=\${p#:}`,
    `set -- ${program ?? launch.map(shellWord).join(" ")}`,
    'for w do r=$(readlink -f -- "$w") || no; case $r in "$q"/*) no ;; esac; done',
    `"$@" ${HOOK_WORDS.join(" ")} || no`,
  ].join("; ");
}

export function isHook(value: unknown): boolean {
  const { command } = fieldsOf(value);
  return (
    typeof command === "string" && command.includes("agentkernel") && command.includes(` ${HOOK_WORDS.join(" ")} ||`)
  );
}

function shellWord(word: string): string {
  return /^[\w./-]+$/.test(word) ? word : shellQuote(word);
}
