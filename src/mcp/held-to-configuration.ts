/**
 * What a model asks for is held to what the user gives: the flags that the server was started with, the user's
 * configuration, and the project's as far as it lies within. Arguments of a call make a sandbox narrower, and wider only
 * by the user's own word, here or there. Somebody who writes what the model reads must not be able to open what the user
 * has not opened.
 */
import { realpathSync } from "node:fs";
import type { PolicyBody } from "../api/commands/prepare.js";
import { isWeakerBackend } from "../core/backend-strength.js";
import { AgentKernelError } from "../core/errors.js";
import { escapeText } from "../core/escape.js";
import type { Policy } from "../core/policy.js";
import { fieldsOf } from "../policy/fields-of.js";
import { bounds, type Wider, widerFields } from "../policy/wider.js";
import { isPlace } from "../runtime/root-image.js";
import type { RunRequest } from "../runtime/run-request.js";
import { type ResourceKey, resourceNumbers } from "../settings/index.js";
import type { Call } from "./tool.js";

/** Nobody reads through more, and what matters could be hidden in it. */
const MAX_QUESTION_CHARS = 1000;

export type Arguments = Omit<PolicyBody, "dir">;

/** What decides, of a request. */
type Compared = Pick<RunRequest, "policy" | "backend"> & { readonly module?: RunRequest["module"] };

interface Excess {
  readonly words: string;
  readonly argument: keyof Arguments;
  /** What the user would have to say, as a flag of `mcp server` or a line of the configuration. */
  readonly remedy: string;
}

/** Resolves where nothing is wider, or the user agrees. A module has no user. */
export async function refuseWider(
  asked: Arguments,
  wanted: Compared,
  usual: Compared,
  { confirm }: Pick<Call, "confirm">,
): Promise<void> {
  const excess = [
    ...widerFields(wanted.policy, usual.policy)
      .filter(({ field }) => field !== "proc.user" || !wanted.module)
      .map((wider) => ofField(wider, asked)),
    ...ofBackend(wanted, usual),
    ...ofImage(asked),
  ];
  const [first] = excess;
  if (first === undefined) return;
  const all = escapeText(excess.map(({ words }) => words).join("; "));
  if (confirm !== null && all.length <= MAX_QUESTION_CHARS) {
    const question = `A tool call asks for a sandbox that is more open than your configuration makes it (${all}). Allow it for this call?`;
    if (await agrees(confirm, question)) return;
    const words = escapeText(first.words);
    throw new AgentKernelError("policy_denied", `the user refused what your configuration does not give: ${words}`, {
      hint: "ask for less",
      details: { field: first.argument },
    });
  }
  const remedies = [...new Set(excess.map(({ remedy }) => remedy))].map(escapeText).join(" and ");
  throw new AgentKernelError("policy_denied", `a call may not go beyond the user's configuration: ${all}`, {
    hint: `leave it out; only the user can give it, with ${remedies}`,
    details: { field: first.argument },
  });
}

async function agrees(confirm: NonNullable<Call["confirm"]>, question: string): Promise<boolean> {
  try {
    return await confirm(question);
  } catch (cause) {
    throw new AgentKernelError("policy_denied", "the user's word is needed, and the question could not be put", {
      hint: "ask for less",
      cause,
    });
  }
}

function ofBackend({ backend: wanted }: Compared, { backend: usual }: Compared): readonly Excess[] {
  if (!isWeakerBackend(wanted.name, usual.name)) return [];
  const words = `backend ${JSON.stringify(wanted.name)} instead of ${JSON.stringify(usual.name)}, which may isolate more`;
  return [{ words, argument: "backend", remedy: `sandbox.backend = ${JSON.stringify(wanted.name)} ${IN_FILE}` }];
}

function ofImage({ image }: Arguments): readonly Excess[] {
  if (image === undefined || image === "host" || !isPlace(image)) return [];
  return [{ words: `image: ${image}, a place of this machine`, argument: "image", remedy: flag(`--image ${image}`) }];
}

function ofField({ field, wanted, usual }: Wider, asked: Arguments): Excess {
  const argument = argumentOf(field, asked);
  const words = `${field} ${JSON.stringify(wanted)} instead of ${JSON.stringify(usual)}`;
  return { words, argument, remedy: remedyFor(argument, field, asked) };
}

/** The argument that set the field: what speaks of it alone counts before what brings many. */
function argumentOf(field: Wider["field"], asked: Arguments): keyof Arguments {
  const has = (name: keyof Arguments) => asked[name] !== undefined;
  if (field === "resources.timeoutMs" && has("timeout_ms")) return "timeout_ms";
  if (field.startsWith("resources.") && has("resources")) return "resources";
  if (field.startsWith("net.") && has("network")) return "network";
  if (field === "proc.user" && has("user")) return "user";
  if (field === "fs.workspace.mode" && has("workspace")) return "workspace";
  if (has("profile")) return "profile";
  return has("compatibility_mode") ? "compatibility_mode" : "backend";
}

const IN_FILE = "in agentkernel/config.toml";

function flag(words: string): string {
  return `agentkernel mcp server ${words}`;
}

/** In the words of the configuration, where it has some. */
function remedyFor(argument: keyof Arguments, field: Wider["field"], asked: Arguments): string {
  const { profile, network, compatibility_mode: mode, resources, timeout_ms: time, user } = asked;
  if (argument === "profile") return `security.profile = ${JSON.stringify(profile)} ${IN_FILE}`;
  if (argument === "compatibility_mode") {
    return `agent.compatibility_mode = ${JSON.stringify(mode)} ${IN_FILE}, or ${flag(`--compatibility-mode ${mode}`)}`;
  }
  if (argument === "network") {
    const domains = typeof network === "object" ? (network.allowed_domains ?? []) : [];
    const listed = domains.length > 0 ? ` and security.domains.allow = ${JSON.stringify(domains)}` : "";
    return `security.network = true${listed} ${IN_FILE}`;
  }
  if (argument === "timeout_ms") return `resources.timeout_ms = ${time} ${IN_FILE}`;
  const key = resourceNumbers.find(({ path }) => path === field)?.setting.key as ResourceKey | undefined;
  if (argument === "resources" && key !== undefined) return `resources.${key} = ${resources?.[key]} ${IN_FILE}`;
  return flag(argument === "user" ? `--user ${user}` : `--${argument}`);
}

/** A module is read on the host: only one of the project's own files, however its path is written. */
export function refuseModuleElsewhere({ module }: RunRequest, project: string | null): void {
  if (module?.source.kind !== "file" || isBelow(module.source.path, project)) return;
  throw new AgentKernelError("policy_denied", "command: the module is not a file of this project", {
    hint: "name a module in the project's directory, by its path from there",
    details: { field: "command" },
  });
}

function isBelow(path: string, project: string | null): boolean {
  if (project === null) return false;
  try {
    return realpathSync(path).startsWith(`${realpathSync(project)}/`);
  } catch {
    // One that is not there is told by whoever reads it.
    return path.startsWith(`${project}/`);
  }
}

/** A sandbox that was made for one user runs nobody else's commands. */
export function refuseOtherUser(asked: string | undefined, policy: Policy): void {
  if (asked === undefined) return;
  const { user } = policy.proc;
  if (bounds["proc.user"].beyond(asked, user, fieldsOf(policy)) === undefined) return;
  throw new AgentKernelError("policy_denied", `user: the sandbox was made for the user ${user}`, {
    hint: "leave user out",
    details: { field: "user" },
  });
}
