/** What a project's files ask for that could go beyond what the user gives, as lines for people. */
import type { ConfigFile } from "../../config/index.js";
import { isWeakerBackend } from "../../core/backend-strength.js";
import type { NetworkRule } from "../../core/policy.js";
import { defaultFields } from "../../policy/defaults.js";
import { valueTexts } from "../../policy/explain.js";
import type { FieldPath, FieldValues, PolicyFields } from "../../policy/fields.js";
import type { Refusal } from "../../policy/resolve.js";
import { widerValues } from "../../policy/wider.js";
import { byPath } from "../../settings/index.js";

/** Nothing that a user could have set is stricter, so a line that is not listed can never widen anything. */
const strictest: FieldValues = {
  ...defaultFields,
  "fs.workspace.mode": "none",
  "fs.workspace.readonly": true,
  "fs.rootReadonly": true,
  "net.egress": "off",
  "proc.noRoot": true,
  "proc.capabilities": "none",
  "proc.seccomp": "strict",
  "proc.landlock": "workspace",
  ...byPath(() => 0),
};

export function requestLines({ layers, profile, mode, preferredMode, image, backend }: ConfigFile): readonly string[] {
  const chosen = [
    ...(profile ? [`${profile.origin}: profile ${profile.name}`] : []),
    ...(mode ? [`${mode.origin}: compatibility mode ${mode.name}`] : []),
    ...(preferredMode && !mode ? [`${preferredMode.origin}: compatibility mode ${preferredMode.name}`] : []),
    ...(image ? [`${image.origin}: image ${image.reference}, with your registry logins`] : []),
    ...(backend && isWeakerBackend(backend.name, STRONGEST) ? [`${backend.origin}: backend ${backend.name}`] : []),
  ];
  return [...chosen, ...layers.flatMap(({ origin, fields }) => fieldLines(origin, fields))];
}

const STRONGEST = "microvm";

function fieldLines(origin: string, fields: PolicyFields): readonly string[] {
  return widerValues({ ...strictest, ...fields }, strictest).map(
    ({ field, wanted }) => `${origin}: ${fieldText(field, wanted)}`,
  );
}

const MCP = "the project's MCP configuration";

export function serverLines(rules: readonly NetworkRule[]): readonly string[] {
  return rules.map((rule) => `${MCP}: ${fieldText("net.allow", [rule])}`);
}

/** In one sentence. */
export function refusalText({ field, by, asked }: Refusal): string {
  const places = [...new Set(by.map(({ name, namedIn }) => (namedIn === "mcp-servers" ? MCP : (namedIn ?? name))))];
  return `${fieldText(field, asked)} (${places.join(", ")})`;
}

function fieldText(field: FieldPath, value: unknown): string {
  return `${field} ${valueTexts(field, value).join(", ")}`;
}
