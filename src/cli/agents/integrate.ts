/** `agents install` and `agents uninstall`: shows the exact change, asks, and makes it. */
import type { Agent, Scope, Setting } from "../../agents/agent.js";
import type { Direction, Integration } from "../../agents/install.js";
import { launchWords } from "../../agents/launch.js";
import { isWithin, realPath } from "../../agents/real-path.js";
import { AgentKernelError } from "../../core/errors.js";
import { escapeText } from "../../core/escape.js";
import { findProgram } from "../../core/find-program.js";
import { redactor } from "../../core/redact.js";
import { secretValues } from "../../core/secret-names.js";
import type { Invocation } from "../../invocation/index.js";
import type { ParsedOptions } from "../option-spec.js";
import { writeErr, writeJson, writeOut } from "../output.js";
import { confirm } from "./confirm.js";

type Agents = typeof import("../../agents/index.js");

export async function integrate(direction: Direction, parsed: ParsedOptions, invocation: Invocation): Promise<number> {
  const own = await import("../../agents/index.js");
  const setting = settingOf(own, parsed, invocation);
  const integration = own.plan(direction, wantedAgent(own, direction, parsed.rest), setting);
  const { changes } = integration;
  const isSure = parsed.flags.has("yes");
  const diffs = shownDiffs(own, integration, invocation);
  if (parsed.flags.has("json")) {
    if (isSure) own.apply(integration);
    return await writeJson(invocation, { success: true, data: report(own, integration, diffs, isSure) });
  }
  if (changes.length === 0) return await writeOut(invocation, `${nothingToDo(integration)}\n`);
  await writeOut(invocation, diffs.join(""));
  if (!isSure && !(await confirm(invocation, question(integration)))) {
    await writeErr(invocation, "agentkernel: nothing was changed\n");
    return 1;
  }
  own.apply(integration);
  await writeOut(invocation, `${done(integration)}\n`);
  if (direction === "install")
    for (const remark of remarks(integration)) await writeErr(invocation, `agentkernel: ${remark}\n`);
  return 0;
}

function settingOf({ fileExists }: Agents, { flags }: ParsedOptions, invocation: Invocation): Setting {
  if (flags.has("user") && flags.has("project")) {
    throw new AgentKernelError("invalid_argument", "--user contradicts --project", { hint: "leave one of them out" });
  }
  const scope: Scope = flags.has("project") ? "project" : "user";
  const { cwd, env, homeDir } = invocation;
  const at = { cwd, env, homeDir };
  const launch = launchWords(scope, at);
  const exposed = launch.find((word) => word.includes("/node_modules/") && isWithin(realPath(word), realPath(cwd)));
  if (exposed !== undefined) {
    throw new AgentKernelError(
      "conflict",
      `agentkernel lies in the project, where its sandboxes can change it: ${exposed}`,
      {
        hint: "install it for yourself (npm install --global) and call that one",
      },
    );
  }
  return { scope, launch, at, exists: fileExists };
}

function wantedAgent({ agentNamed, isAgentName }: Agents, direction: Direction, rest: readonly string[]): Agent {
  const [name, ...more] = rest;
  if (name !== undefined && more.length === 0 && isAgentName(name)) return agentNamed(name);
  const what =
    name === undefined
      ? "needs the name of an agent"
      : more.length > 0
        ? "takes one agent"
        : `knows no agent "${name}"`;
  throw new AgentKernelError("invalid_argument", `agents ${direction} ${what}`, {
    hint: `write agentkernel agents ${direction} claude, codex, gemini or opencode`,
  });
}

/** What stands around our lines is the user's, and may be a secret. */
function shownDiffs({ diffOf }: Agents, { changes, setting }: Integration, { env }: Invocation): readonly string[] {
  const redact = redactor(secretValues(env));
  return changes.map((change) =>
    diffOf(change, setting)
      .split("\n")
      .map((line) => escapeText(line.startsWith(" ") ? redact.text(line) : line))
      .join("\n"),
  );
}

function report(
  { linkedTarget }: Agents,
  { direction, agent, setting, changes }: Integration,
  diffs: readonly string[],
  applied: boolean,
): object {
  return {
    agent: agent.name,
    scope: setting.scope,
    direction,
    applied,
    files: changes.map(({ path, before, after }, index) => ({
      path,
      real_path: linkedTarget(path, setting) ?? path,
      change: before === null ? "create" : after === null ? "remove" : "edit",
      diff: diffs[index],
    })),
  };
}

function remarks({ agent, setting }: Integration): readonly string[] {
  const isHere = findProgram(agent.program, setting.at.env.PATH) !== null;
  return [
    ...(isHere ? [] : [`${agent.program} is not in PATH yet: what was written waits for it`]),
    ...agent.remarks(setting),
  ];
}

function nothingToDo({ direction, agent, setting }: Integration): string {
  const where = setting.scope === "user" ? "for you" : "in this project";
  return direction === "install"
    ? `${agent.title} is set up ${where} already`
    : `${agent.title} has nothing of ours ${where}`;
}

function question({ direction, agent, changes }: Integration): string {
  const files = `${changes.length} ${changes.length === 1 ? "file" : "files"}`;
  return `Change ${files} to ${direction === "install" ? "set" : "take"} ${agent.title} ${direction === "install" ? "up" : "back"}?`;
}

function done({ direction, agent }: Integration): string {
  return direction === "install" ? `${agent.title} now uses sandboxes` : `${agent.title} is as it was`;
}
