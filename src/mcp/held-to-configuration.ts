/**
 * What a model asks for is held to what the user's configuration gives: arguments of a call can make a sandbox narrower,
 * and wider only by the user's own word, here or in a file. Somebody who writes what the model reads must not be able to
 * open what the user has not opened.
 */
import type { PolicyBody } from "../api/commands/prepare.js";
import { AgentKernelError } from "../core/errors.js";
import { escapeText } from "../core/escape.js";
import type { Policy } from "../core/policy.js";
import { type Wider, widerFields } from "../policy/wider.js";
import { isPlace } from "../runtime/root-image.js";
import type { Call } from "./tool.js";

/** Nobody reads through more, and what matters could be hidden in it. */
const MOST_ASKED_CHARS = 1000;

export type Arguments = Omit<PolicyBody, "dir">;

/** The same, without whatever could open more than the configuration does. */
export function usualArguments({ profile: _p, compatibility_mode: _m, network: _n, image, ...rest }: Arguments) {
  return image === undefined || isHostPlace(image) ? rest : { ...rest, image };
}

/** Whether anything in them has to be held against the configuration at all. */
export function mayWiden({ profile, compatibility_mode: mode, network, image }: Arguments): boolean {
  return profile !== undefined || mode !== undefined || network !== undefined || isHostPlace(image);
}

/** Resolves where nothing is wider, or the user agrees. */
export async function refuseWider(
  asked: Arguments,
  wanted: Policy,
  usual: Policy,
  { confirm }: Pick<Call, "confirm">,
): Promise<void> {
  const wider = widerFields(wanted, usual).filter((one) => !isCarryingOver(one, asked, usual));
  const what = [...wider.map(words), ...(isHostPlace(asked.image) ? [`image: ${asked.image}`] : [])].map(escapeText);
  if (what.length === 0) return;
  const [first = ""] = what;
  const all = what.join("; ");
  if (confirm !== null && all.length <= MOST_ASKED_CHARS) {
    const question = `A tool call asks for a sandbox that is more open than your configuration makes it (${all}). Allow it for this call?`;
    if (await agrees(confirm, question)) return;
    throw new AgentKernelError("policy_denied", `the user refused what your configuration does not give: ${first}`, {
      hint: "ask for less",
    });
  }
  throw new AgentKernelError("policy_denied", `a call may not go beyond the user's configuration: ${all}`, {
    hint: `leave it out, or have the user write ${lineFor(asked, wider)} in agentkernel/config.toml or the project's agentkernel.toml`,
    details: { field: fieldOf(asked) },
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

/** A mode's way to treat the project: its files are the agent's to change, and changes are told. */
function isCarryingOver({ field, wanted }: Wider, { compatibility_mode: mode }: Arguments, { fs }: Policy): boolean {
  const { workspace } = fs;
  if (field !== "fs.workspace.mode" || wanted !== "sync") return false;
  return mode !== undefined && workspace.mode === "copy" && !workspace.readonly;
}

function isHostPlace(image: string | undefined): boolean {
  return image !== undefined && image !== "host" && isPlace(image);
}

function words({ field, wanted, usual }: Wider): string {
  return `${field} ${JSON.stringify(wanted)} instead of ${JSON.stringify(usual)}`;
}

function fieldOf({ profile, network, compatibility_mode: mode }: Arguments): string {
  if (profile !== undefined) return "profile";
  if (network !== undefined) return "network";
  return mode === undefined ? "image" : "compatibility_mode";
}

/** What would give it. */
function lineFor(asked: Arguments, wider: readonly Wider[]): string {
  const lines: string[] = [];
  const { profile, network, compatibility_mode: mode, image } = asked;
  const isAboutNetwork = wider.some(({ field }) => field.startsWith("net."));
  if (profile !== undefined) lines.push(`security.profile = ${JSON.stringify(profile)}`);
  if (mode !== undefined && profile === undefined) lines.push(`agent.compatibility_mode = ${JSON.stringify(mode)}`);
  if (network !== undefined && isAboutNetwork) {
    const domains = typeof network === "object" ? (network.allowed_domains ?? []) : [];
    lines.push("security.network = true");
    if (domains.length > 0) lines.push(`security.domains.allow = ${JSON.stringify(domains)}`);
  }
  if (isHostPlace(image)) lines.push(`sandbox.base_image = ${JSON.stringify(image)}`);
  return lines.join(" and ");
}
