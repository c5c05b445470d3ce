/** Arguments of a tool into a checked request of the runtime, by the way that bodies of the HTTP interface go. */
import { type PolicyBody, prepare } from "../api/commands/prepare.js";
import { env, network, timeoutMs } from "../api/operations/fields.js";
import { optional } from "../api/schema/object-shape.js";
import { choice, text } from "../api/schema/shapes.js";
import { compatibilityModes, profileNames } from "../core/policy.js";
import type { RunRequest } from "../runtime/run-request.js";
import type { McpHost } from "./host.js";

export { DEFAULT_TIMEOUT_MS } from "../api/commands/prepare.js";

/** What decides about a sandbox. */
export const policyFields = {
  image: optional(
    text({ expected: "an image such as python:3.12-alpine", minLength: 1, maxLength: 1024 }),
    "Where the root filesystem comes from; otherwise it is detected from the command and the project.",
    "python:3.12-alpine",
  ),
  profile: optional(choice(profileNames), "How much is allowed (moderate)."),
  compatibility_mode: optional(choice(compatibilityModes), "Defaults that fit one agent (native)."),
  network: optional(
    network,
    "true: every public address; false: nothing; or {enabled, allowed_domains}: only these domains.",
  ),
  env: optional(env, "Environment variables.", { CI: "1" }),
};

export const timeout = optional(timeoutMs, "After so many milliseconds the command is ended (30000).");

export async function prepareFor(
  host: McpHost,
  command: readonly string[],
  body: Omit<PolicyBody, "dir">,
): Promise<RunRequest> {
  const dir = host.project === null ? {} : { dir: host.project };
  return await prepare(command, { ...body, ...dir }, host.caller, host.own);
}
