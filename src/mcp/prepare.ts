/** Arguments of a tool into a checked request of the runtime, by the way that bodies of the HTTP interface go. */
import { prepare, preparedUsual } from "../api/commands/prepare.js";
import { backendChoice, env, network, timeoutMs } from "../api/operations/fields.js";
import { optional } from "../api/schema/object-shape.js";
import { choice, text } from "../api/schema/shapes.js";
import type { RunRequest } from "../runtime/run-request.js";
import { optionSettings } from "../settings/options.js";
import { argumentRules } from "./argument-rules.js";
import { type Arguments, refuseModuleElsewhere, refuseWider } from "./held-to-configuration.js";
import type { Call } from "./tool.js";

export { DEFAULT_TIMEOUT_MS } from "../api/commands/prepare.js";

/** What decides about a sandbox. */
export const policyFields = {
  backend: optional(
    backendChoice,
    "What isolates it (auto); one that may isolate less than the user's choice needs the user's word.",
  ),
  image: optional(
    text({ expected: "an image such as python:3.12-alpine", minLength: 1, maxLength: 1024 }),
    "Where the root filesystem comes from; otherwise it is detected from the command and the project.",
    "python:3.12-alpine",
  ),
  profile: optional(
    choice(optionSettings.profile.choices),
    "How much is allowed; more than the user's configuration gives needs the user's word.",
  ),
  compatibility_mode: optional(
    choice(optionSettings.mode.choices),
    "Defaults that fit one agent (native); more than the user's configuration gives needs the user's word.",
  ),
  network: optional(
    network,
    "true: every public address; false: nothing; or {enabled, allowed_domains}: only these domains. More than the user's configuration gives needs the user's word.",
  ),
  env: optional(env, "Environment variables.", { CI: "1" }),
};

export const timeout = optional(timeoutMs, "After so many milliseconds the command is ended (30000).");

/** Rejects where it asks for more than the user gives and the user does not agree. */
export async function prepareFor(
  call: Pick<Call, "host" | "confirm">,
  command: readonly string[],
  body: Arguments,
): Promise<RunRequest> {
  const { host } = call;
  const dir = host.project === null ? {} : { dir: host.project };
  const wanted = await prepare(command, { ...body, ...dir }, { ...host, isModel: true });
  refuseModuleElsewhere(wanted, host.project);
  if (!Object.keys(body).some(isHeld)) return wanted;
  await refuseWider(body, wanted, await preparedUsual(dir, host), call);
  return wanted;
}

function isHeld(name: string): boolean {
  return argumentRules[name as keyof Arguments] !== "data";
}
