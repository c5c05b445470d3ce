/** `agents`: which coding agents are here, whether they have a key, and whether they use sandboxes. */
import { type Agent, type Scope, scopes } from "../../agents/agent.js";
import type { AgentState } from "../../agents/detect.js";
import { launchWords } from "../../agents/launch.js";
import { isAgentKernelError } from "../../core/errors.js";
import { escapeText } from "../../core/escape.js";
import type { Invocation } from "../../invocation/index.js";
import { tableText } from "../images/text.js";
import type { ParsedOptions } from "../option-spec.js";
import { writeJson, writeOut } from "../output.js";

type Agents = typeof import("../../agents/index.js");

export async function execute(parsed: ParsedOptions, invocation: Invocation): Promise<number> {
  const own = await import("../../agents/index.js");
  const found = await Promise.all(
    own.agents.map(async (agent) => ({
      agent,
      state: await own.detect(agent, invocation),
      integration: integrationOf(own, agent, invocation),
    })),
  );
  if (!parsed.flags.has("json")) return await writeOut(invocation, table(found));
  const data = found.map(({ agent, state, integration }) => ({
    agent: agent.name,
    title: agent.title,
    installed: state.program !== null,
    program: state.program,
    version: state.version,
    api_key: state.key === null ? "missing" : "set",
    api_key_source: state.key,
    integration,
  }));
  return await writeJson(invocation, { success: true, data });
}

type Integration = Readonly<Record<Scope, IntegrationState>>;
type IntegrationState = "installed" | "none" | "partial" | "unreadable";

interface FoundAgent {
  readonly agent: Agent;
  readonly state: AgentState;
  readonly integration: Integration;
}

function table(found: readonly FoundAgent[]): string {
  return tableText([
    ["AGENT", "STATUS", "API KEY", "USES AGENTKERNEL"],
    ...found.map(({ agent, state, integration }) => [
      agent.title,
      statusText(state),
      state.key === null ? "missing" : "set",
      integrationText(integration),
    ]),
  ]);
}

const inScope: Readonly<Record<Scope, string>> = { user: "in all projects", project: "in this project" };
const inState: Readonly<Record<Exclude<IntegrationState, "none">, string>> = {
  installed: "",
  partial: " (in part)",
  unreadable: " (its files cannot be read)",
};

function integrationText(integration: Integration): string {
  const places = scopes.flatMap((scope) => {
    const state = integration[scope];
    return state === "none" ? [] : [`${inScope[scope]}${inState[state]}`];
  });
  return places.length === 0 ? "no" : places.join(", ");
}

function statusText({ program, version }: AgentState): string {
  if (program === null) return "not installed";
  return version === null ? "installed" : `installed (${escapeText(version)})`;
}

function integrationOf(own: Agents, agent: Agent, invocation: Invocation): Integration {
  return {
    user: integrationState(own, agent, "user", invocation),
    project: integrationState(own, agent, "project", invocation),
  };
}

/** Set up as this version would do it; `unreadable`: one of its files cannot be understood. */
function integrationState(
  { plan, fileExists }: Agents,
  agent: Agent,
  scope: Scope,
  { cwd, env, homeDir }: Invocation,
): IntegrationState {
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
