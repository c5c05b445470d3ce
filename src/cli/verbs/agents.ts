/** `agents`: which coding agents are here, and whether they have a key. */
import { type Agent, type Scope, scopes } from "../../agents/agent.js";
import type { AgentState } from "../../agents/detect.js";
import { launchWords } from "../../agents/launch.js";
import { isAgentKernelError } from "../../core/errors.js";
import { escapeText } from "../../core/escape.js";
import { tableText } from "../images/text.js";
import type { Invocation } from "../invocation/index.js";
import type { ParsedOptions } from "../option-spec.js";
import { writeJson, writeOut } from "../output.js";

type Agents = typeof import("../../agents/index.js");

export async function execute(parsed: ParsedOptions, invocation: Invocation): Promise<number> {
  const own = await import("../../agents/index.js");
  const found = await Promise.all(
    own.agents.map(async (agent) => ({ agent, state: await own.detect(agent, invocation) })),
  );
  if (!parsed.flags.has("json")) return await writeOut(invocation, table(found));
  const data = found.map(({ agent, state }) => ({
    agent: agent.name,
    title: agent.title,
    installed: state.program !== null,
    program: state.program,
    version: state.version,
    api_key: state.key === null ? "missing" : "set",
    api_key_source: state.key,
    integration: Object.fromEntries(scopes.map((scope) => [scope, integrationState(own, agent, scope, invocation)])),
  }));
  return await writeJson(invocation, { success: true, data });
}

function table(found: readonly { readonly agent: Agent; readonly state: AgentState }[]): string {
  return tableText([
    ["AGENT", "STATUS", "API KEY"],
    ...found.map(({ agent, state }) => [agent.title, statusText(state), state.key === null ? "missing" : "set"]),
  ]);
}

function statusText({ program, version }: AgentState): string {
  if (program === null) return "not installed";
  return version === null ? "installed" : `installed (${escapeText(version)})`;
}

/** Set up as this version would do it; `unreadable`: one of its files cannot be understood. */
function integrationState(
  { plan, fileExists }: Agents,
  agent: Agent,
  scope: Scope,
  { cwd, env, homeDir }: Invocation,
): string {
  const at = { cwd, env, homeDir };
  const setting = { scope, launch: launchWords(scope, at), at, exists: fileExists };
  try {
    if (plan("install", agent, setting).changes.length === 0) return "installed";
    return plan("uninstall", agent, setting).changes.length === 0 ? "none" : "partial";
  } catch (error) {
    if (isAgentKernelError(error)) return "unreadable";
    throw error;
  }
}
