/**
 * The compatibility modes, as the fields they set. `native` sets none: all of it is the profile's.
 * Which domains a preset stands for is known to the gateway.
 */
import type { CompatibilityMode, NetworkRule } from "../core/policy.js";
import type { PolicyFields } from "./fields.js";
import { profiles, strictProcess } from "./profiles.js";

export const defaultMode: CompatibilityMode = "native";

function agentMode(process: PolicyFields, apiDomains: readonly string[]): PolicyFields {
  const api: NetworkRule[] = apiDomains.map((domain) => ({ domain }));
  return {
    ...profiles.moderate,
    ...process,
    "fs.workspace.mode": "sync",
    "net.egress": "allowlist",
    "net.allow": [...api, { preset: "package-registries" }],
  };
}

export const modes: Readonly<Record<CompatibilityMode, PolicyFields>> = {
  native: {},
  claude: agentMode({}, ["api.anthropic.com", "cdn.anthropic.com"]),
  codex: agentMode(strictProcess, ["api.openai.com", "cdn.openai.com"]),
  gemini: agentMode({}, ["*.googleapis.com"]),
};
