/**
 * What an entry of our MCP server may have besides its command, in a project's files: those come from whoever wrote the
 * project, and `env`, `cwd`, `url`, `trust` and the like make something else of the same command. In a user's own files
 * all of it is the user's.
 */
import type { Scope } from "./agent.js";
import { askedTools, calmTools, fieldsOf, serverOptions } from "./mcp-entry.js";

type Check = (value: unknown) => boolean;

const anything: Check = () => true;
const names: Check = (value) => Array.isArray(value) && value.every((item) => typeof item === "string");

const harmless: Readonly<Record<string, Check>> = {
  ...{ command: isPlain, args: isPlain, description: anything, timeout: anything },
  ...{ startup_timeout_sec: anything, tool_timeout_sec: anything, enabled: anything, disabled: anything },
  ...{ includeTools: names, excludeTools: names, enabled_tools: names, disabled_tools: names },
  type: (value) => value === "stdio" || value === "local",
  // Names of variables of the user's own, for a program of the user's own; not those that make Node load something.
  env_vars: (value) => Array.isArray(value) && value.every((name) => /^(?:AGENTKERNEL|XDG)_\w+$/.test(String(name))),
  default_tools_approval_mode: (value) => value === "prompt",
  tools: (value) => Object.entries(fieldsOf(value)).every(([tool, mode]) => isCalm(tool, fieldsOf(mode))),
};

/** Null: nothing. Else what is wrong with an entry, for a sentence about it. */
export function objectionTo(scope: Scope): (value: unknown) => string | null {
  return (value) => {
    if (scope === "user") return null;
    const bad = Object.entries(fieldsOf(value)).filter(([key, inner]) => !isHarmless(key, inner));
    return bad.length === 0 ? null : `says ${bad.map(([key]) => key).join(", ")}, which a project must not decide`;
  };
}

/** Options of the server widen what every call may ask for: they are the user's to give. */
function isPlain(value: unknown): boolean {
  return !Array.isArray(value) || serverOptions(value).length === 0;
}

function isHarmless(key: string, value: unknown): boolean {
  return Object.hasOwn(harmless, key) && harmless[key]?.(value) === true;
}

/** No more is allowed without a question than we allow ourselves. */
function isCalm(tool: string, mode: Readonly<Record<string, unknown>>): boolean {
  const isKnown = Object.keys(mode).every((key) => key === "approval_mode");
  const isAsked = mode.approval_mode === "prompt" && [...calmTools, ...askedTools].some((one) => one === tool);
  return isKnown && (isAsked || (mode.approval_mode === "approve" && calmTools.some((one) => one === tool)));
}
